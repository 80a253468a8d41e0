"""Offers skills, where they are visible, the difference of two of their versions, and skills as folders of files."""

from gristmill.session.skills.skill import Level, Skill, SkillScope, diff_skills
from gristmill.session.skills.skill_folder import export_skill, import_skill
from gristmill.session.skills.skill_summary import SkillSummary

__all__ = ["Level", "Skill", "SkillScope", "SkillSummary", "diff_skills", "export_skill", "import_skill"]
