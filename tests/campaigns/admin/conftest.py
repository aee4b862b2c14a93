"""People of the staff, signed in."""

from collections.abc import Callable

import pytest
from django.apps import apps
from django.contrib.auth.models import Group, Permission, User
from django.test import Client

from mailkoenig import roles
from tests.factories import UserFactory

SignIn = Callable[..., Client]


@pytest.fixture
def sign_in(db: None) -> SignIn:
    """Return what signs somebody in: with a role, with single permissions, or with neither."""
    roles.ensure(apps)

    def sign_in_as(role: str = "", *permissions: str) -> Client:
        user: User = UserFactory.create()
        if role:
            user.groups.add(Group.objects.get(name=role))
        for name in permissions:
            app, codename = name.split(".")
            user.user_permissions.add(Permission.objects.get(content_type__app_label=app, codename=codename))
        client = Client()
        client.force_login(user)
        return client

    return sign_in_as


@pytest.fixture
def writer(sign_in: SignIn) -> Client:
    return sign_in("Writer")


@pytest.fixture
def sender(sign_in: SignIn) -> Client:
    return sign_in("Sender")


@pytest.fixture
def operator(sign_in: SignIn) -> Client:
    return sign_in("Operator")
