"""The smallest valid object of each model."""

from datetime import timedelta
from typing import Any

import factory
from django.contrib.auth.models import User
from django.utils import timezone

from campaigns.models import Campaign, Message, Recipient, SendBatch, SenderDomain, Stream
from contacts.models import Contact, ContactList, Membership, Suppression


class ContactFactory(factory.django.DjangoModelFactory[Contact]):
    class Meta:
        model = Contact

    email = factory.Sequence(lambda n: f"person{n}@example.com")
    name = factory.Sequence(lambda n: f"Person {n}")


class ContactListFactory(factory.django.DjangoModelFactory[ContactList]):
    class Meta:
        model = ContactList

    name = factory.Sequence(lambda n: f"List {n}")


class MembershipFactory(factory.django.DjangoModelFactory[Membership]):
    class Meta:
        model = Membership

    list = factory.SubFactory(ContactListFactory)
    contact = factory.SubFactory(ContactFactory)


class SuppressionFactory(factory.django.DjangoModelFactory[Suppression]):
    class Meta:
        model = Suppression

    address = factory.Sequence(lambda n: f"gone{n}@example.com")


class SenderDomainFactory(factory.django.DjangoModelFactory[SenderDomain]):
    class Meta:
        model = SenderDomain

    name = factory.Sequence(lambda n: f"mg{n}.example.com")


class CampaignFactory(factory.django.DjangoModelFactory[Campaign]):
    """A draft that could start, but for its lists: pass `lists=[…]`."""

    class Meta:
        model = Campaign
        skip_postgeneration_save = True

    name = factory.Sequence(lambda n: f"Campaign {n}")
    subject = "News for {{ name }}"
    body = "Hello {{ name }}, [leave]({{ unsubscribe_url }})"
    from_name = "Example Shop"
    domain = factory.SubFactory(SenderDomainFactory)
    from_email = factory.LazyAttribute(lambda campaign: f"news@{campaign.domain.name}")

    @factory.post_generation  # type: ignore[untyped-decorator]  # factory-boy has no types for it
    def lists(self, create: bool, extracted: Any, **kwargs: Any) -> None:
        if create and extracted:
            self.lists.set(extracted)


class RecipientFactory(factory.django.DjangoModelFactory[Recipient]):
    class Meta:
        model = Recipient

    campaign = factory.SubFactory(CampaignFactory, status="sending")
    contact = factory.SubFactory(ContactFactory)
    email = factory.LazyAttribute(lambda recipient: recipient.contact.email)
    name = factory.LazyAttribute(lambda recipient: recipient.contact.name)


class StreamFactory(factory.django.DjangoModelFactory[Stream]):
    class Meta:
        model = Stream
        django_get_or_create = ("name",)

    name = "campaigns"
    kind = "campaign"
    batch_size = 1000
    on_unknown = "resend"


class SendBatchFactory(factory.django.DjangoModelFactory[SendBatch]):
    class Meta:
        model = SendBatch

    stream = factory.SubFactory(StreamFactory)
    campaign = factory.SubFactory(CampaignFactory, status="sending")
    domain = factory.SelfAttribute("campaign.domain")
    worker = "worker"
    lease_expires_at = factory.LazyFunction(lambda: timezone.now() + timedelta(minutes=10))


class UserFactory(factory.django.DjangoModelFactory[User]):
    class Meta:
        model = User

    username = factory.Sequence(lambda n: f"staff{n}")
    is_staff = True


class MessageFactory(factory.django.DjangoModelFactory[Message]):
    """A message that is ready."""

    class Meta:
        model = Message

    stream = factory.SubFactory(
        StreamFactory, name="receipts", kind="transactional", batch_size=1, on_unknown="hold"
    )
    domain = factory.SubFactory(SenderDomainFactory)
    idempotency_key = factory.Sequence(lambda n: f"order-{n}:receipt:v1")
    digest = "0" * 64
    email = factory.Sequence(lambda n: f"customer{n}@example.com")
    sender = factory.LazyAttribute(lambda message: f"no-reply@{message.domain.name}")
    subject = "Your receipt"
    html = "<p>Thank you</p>"
    text = "Thank you"
