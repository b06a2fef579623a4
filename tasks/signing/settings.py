"""The part of the configuration that says with which key a release is signed; it never holds the key."""

import re
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from tasks.table_settings import Place, Section


def _capitals(name: str) -> str:
    if not re.fullmatch("[A-Z][A-Z0-9_]*", name):
        raise ValueError(
            "must be the name of an environment variable in capitals, such as UNJOIN_KEY, never a secret"
        )
    return name


Variable = Annotated[str, AfterValidator(_capitals)]


class Signing(Section):
    """The key that signs the release; without one it is not signed."""

    private_key: Place | None = Field(
        default=None, description="The file of the private key; nobody but its owner may read it"
    )
    private_key_from: Variable | None = Field(
        default=None, description="Instead of a file: the environment variable that holds the private key"
    )
    passphrase_from: Variable | None = Field(
        default=None, description="The environment variable that holds the key's passphrase, if it has one"
    )

    @model_validator(mode="after")
    def _one_key(self) -> Self:
        if self.private_key is not None and self.private_key_from is not None:
            raise ValueError("private_key and private_key_from name two keys: set one of them")
        if self.passphrase_from is not None and not self.signs:
            raise ValueError("passphrase_from is used with private_key or private_key_from only")
        return self

    @property
    def signs(self) -> bool:
        """Whether a release is signed."""
        return self.private_key is not None or self.private_key_from is not None
