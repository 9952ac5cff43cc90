"""Programs that fetch a link to show a preview of its destination."""

from typing import Final

# A pattern, and the name of the program that shows the preview. The first match counts: several
# pretend to be Facebook's or Twitter's.
PREVIEWS: Final = (
    (r"(?i)Macintosh.* facebookexternalhit/1\.1 Facebot Twitterbot/1\.0", "iMessage"),
    (r"(?i)kakaotalk-scrap", "KakaoTalk"),
    (r"(?i)line-poker|Line/linkpreview", "LINE"),
    (r"(?i)TelegramBot", "Telegram"),
    (r"(?i)Slackbot|Slack-ImgProxy", "Slack"),
    (r"(?i)^WhatsApp/", "WhatsApp"),
    (r"(?i)facebookexternalhit|facebookcatalog|Facebot", "Facebook"),
    (r"(?i)Twitterbot", "X"),
    (r"(?i)Discordbot", "Discord"),
    (r"(?i)LinkedInBot", "LinkedIn"),
    (r"(?i)SkypeUriPreview", "Microsoft Teams"),
    (r"(?i)MicrosoftPreview|BingPreview", "Microsoft"),
    (r"(?i)redditbot", "Reddit"),
    (r"(?i)Pinterestbot|^Pinterest/", "Pinterest"),
    (r"(?i)Cardyb", "Bluesky"),
    (r"(?i)\bMastodon/", "Mastodon"),
    (r"(?i)Synapse \(bot;", "Matrix"),
    (r"(?i)^Viber/", "Viber"),
    (r"(?i)vkShare", "VK"),
    (r"(?i)snap URL preview", "Snapchat"),
    (r"(?i)ZulipURLPreview", "Zulip"),
    (r"(?i)Rocket\.Chat", "Rocket.Chat"),
    (r"(?i)^mattermost-", "Mattermost"),
    (r"(?i)Google-PageRenderer|GoogleMessages|Google-Chat", "Google"),
    (r"(?i)Embedly", "Embedly"),
    (r"(?i)Iframely", "Iframely"),
)


class Previews:
    def __init__(self) -> None:
        import ua_parser_rs

        rules = [(pattern, name, None, None, None, None) for pattern, name in PREVIEWS]
        self._rules = ua_parser_rs.UserAgentExtractor(rules)

    def find(self, text: str) -> str | None:
        """The program that shows the preview; None if the user agent is not one of these."""
        found = self._rules.extract(text)
        return None if found is None else found.family
