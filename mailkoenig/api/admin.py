"""API tokens: made here and shown once, looked at, revoked."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.safestring import SafeString
from unfold.admin import ModelAdmin

from campaigns.admin.levers import IN_THE_TRAIL, Lever, LeverAdmin
from campaigns.admin.words import RUNNING, STOPPED, badge, when
from mailkoenig.api import services
from mailkoenig.api.forms import TokenForm
from mailkoenig.api.models import ApiToken


@admin.register(ApiToken)
class ApiTokenAdmin(LeverAdmin, ModelAdmin):  # type: ignore[misc]  # unfold has no types
    form = TokenForm
    change_form_template = "admin/campaigns/lever_form.html"
    list_display = ["name", "token", "what", "state", "used", "made"]
    list_filter: list[Any] = []
    actions = None
    empty_title = "No API tokens"
    empty_text = (
        "A shop or another program needs one to hand in mail over HTTP. It is shown once, when it is made."
    )
    fieldsets = [(None, {"fields": ["name", "streams", "all_streams", "holds_contacts", "can_stop_sending"]}),
                 ("How", {"fields": ["can_read", "can_write", "rate_per_minute"]})]  # fmt: skip
    looked_at = [
        (None, {"fields": ["name", "token", "state", "what", "rate_per_minute"]}),
        ("History", {"fields": ["made", "made_by", "used", "revoked"]}),
    ]
    levers = {
        "revoke": Lever(
            "Revoke",
            "Revoke",
            "key_off",
            lambda token: [f"Refuse the token {token} from now on.", f"It {services.scope(token)}."],
            "Whoever uses it gets 401 at once. This can't be taken back; what it has handed in still goes out.",
            lambda token, reason, by: services.revoke_token(token, reason=reason, by=by),
            "revoked.",
            reason_shown=IN_THE_TRAIL,
            is_danger=True,
        )
    }

    def get_fieldsets(self, request: HttpRequest, obj: ApiToken | None = None) -> Any:
        return self.looked_at if obj else self.fieldsets

    def get_readonly_fields(self, request: HttpRequest, obj: ApiToken | None = None) -> list[str]:
        """Keep a token as it was made: a program that gets more or less is given another one."""
        return [field for _, part in self.looked_at for field in part["fields"]] if obj else []

    def has_delete_permission(self, request: HttpRequest, obj: ApiToken | None = None) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: ApiToken, form: TokenForm, change: bool) -> None:
        if change:
            return
        obj.created_by_id = request.user.pk
        obj.secret = services.create_token(
            obj, streams=form.cleaned_data["streams"], by=request.user.get_username()
        )

    def log_addition(self, request: HttpRequest, obj: ApiToken, message: Any) -> None:
        """Leave it to the service, which says what the token may do."""

    def response_add(
        self, request: HttpRequest, obj: ApiToken, post_url_continue: str | None = None
    ) -> HttpResponse:
        """Show the secret, on this page and never again."""
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "original": obj,
            "title": f"The token {obj}",
            "scope": services.scope(obj),
            "home": self.address("changelist"),
        }
        return TemplateResponse(request, "admin/api/apitoken/created.html", context)

    @admin.display(description="Begins with")
    def token(self, token: ApiToken) -> str:
        return f"{token.visible}…"

    @admin.display(description="What it may do")
    def what(self, token: ApiToken) -> str:
        return services.scope(token)

    @admin.display(description="State")
    def state(self, token: ApiToken) -> SafeString:
        return badge("Revoked", STOPPED) if token.revoked_at else badge("In use", RUNNING)

    @admin.display(description="Last used")
    def used(self, token: ApiToken) -> SafeString | str:
        return when(token.last_used_at) or "never"

    @admin.display(description="Made")
    def made(self, token: ApiToken) -> SafeString | None:
        return when(token.created_at)

    @admin.display(description="Made by")
    def made_by(self, token: ApiToken) -> str:
        return token.created_by.get_username() if token.created_by else "somebody on the command line"

    @admin.display(description="Revoked")
    def revoked(self, token: ApiToken) -> SafeString | str:
        return when(token.revoked_at) or "no"

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> Any:
        token: ApiToken | None = kwargs.get("obj")
        context |= {
            "show_save": token is None,
            "show_save_and_continue": False,
            "show_save_and_add_another": False,
        }
        if token is not None and token.revoked_at is None and self.has_change_permission(request, token):
            context["levers"] = list(self.levers.items())
        return super().render_change_form(request, context, *args, **kwargs)
