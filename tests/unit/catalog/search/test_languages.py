"""Questions in twenty languages over descriptions in those languages: at least half find their tool first."""

from gristmill.catalog.search.tool_index import ToolIndex
from gristmill.model import Tool

QUESTIONS = {
    "de": ("Rechnungen anzeigen", "Zeigt alle Rechnungen eines Kunden an."),
    "fr": ("envoyer un courriel", "Envoie un courriel à un destinataire."),
    "es": ("crear una factura", "Crea una factura nueva para un cliente."),
    "it": ("cercare documenti", "Cerca documenti per parola chiave."),
    "pt": ("previsão do tempo", "Obtém a previsão do tempo de uma cidade."),
    "nl": ("afspraak verwijderen", "Verwijdert een afspraak uit de agenda."),
    "sv": ("boka ett möte", "Boka ett möte i kalendern."),
    "da": ("hent kontakter", "Henter alle kontakter."),
    "no": ("legg til en oppgave", "Legger til en ny oppgave i listen."),
    "fi": ("hae tilaukset", "Hae asiakkaan tilaukset."),
    "pl": ("pokaż zamówienia", "Pokaż zamówienia klienta."),
    "cs": ("vytvořit fakturu", "Umí vytvořit fakturu pro zákazníka."),
    "hu": ("időjárás lekérése", "Az időjárás lekérése egy városra."),
    "tr": ("dosya yükle", "Sunucuya dosya yükle."),
    "ru": ("отправить сообщение", "Отправить сообщение в канал."),
    "uk": ("створити задачу", "Створити задачу в проєкті."),
    "el": ("αναζήτηση προϊόντων", "Αναζήτηση προϊόντων στον κατάλογο."),
    "zh": ("查询天气预报", "查询某个城市的天气预报。"),
    "ja": ("会議を予約する", "カレンダーに会議を予約する。"),
    "ko": ("주문 목록 조회", "고객의 주문 목록 조회."),
}
TOOLS = [
    Tool(server=language, name=f"tool_{number}", description=text)
    for number, (language, (_, text)) in enumerate(QUESTIONS.items())
]


def test_at_least_half_of_the_questions_in_twenty_languages_find_their_tool_first() -> None:
    index = ToolIndex.build(TOOLS)

    found = {
        language: [hit.tool.server for hit in index.search(question, 1)] == [language]
        for language, (question, _) in QUESTIONS.items()
    }

    assert len(found) == 20
    assert sum(found.values()) >= 18, found
