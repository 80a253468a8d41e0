"""The values of conversations, for doors and for the chat."""

from gristmill.session.conversations.conversation_values import (
    ChatUsage,
    Conversation,
    ConversationMessage,
    ConversationTurn,
    MessageKind,
    Standing,
)

__all__ = ["ChatUsage", "Conversation", "ConversationMessage", "ConversationTurn", "MessageKind", "Standing"]
