"""What a call costs, by the price tables of genai-prices; no network."""

from __future__ import annotations

from decimal import ROUND_UP, Decimal

from ..authoring.language_models import COST_PLACES

_SMALLEST = Decimal(1).scaleb(-COST_PLACES)


def price(
    provider: str, model: str, *, tokens_in: int, tokens_out: int, read: int = 0, written: int = 0
) -> Decimal | None:
    """Dollars for the tokens of one call, None where the tables do not have it.

    `read` and `written` are the part of `tokens_in` that a provider's cache answered or stored.
    Rounded up to a millionth: what was paid is never recorded as 0.
    """
    if not provider or not tokens_in + tokens_out:
        return None  # a server that counts no tokens is not free
    from genai_prices import Usage, calc_price  # 0.1 s: not with each start

    try:
        usage = Usage(
            input_tokens=tokens_in,
            output_tokens=tokens_out,
            cache_read_tokens=read or None,
            cache_write_tokens=written or None,
        )
        total = calc_price(usage, model, provider_id=provider).total_price
    except (LookupError, ValueError):
        return None
    return total.quantize(_SMALLEST, rounding=ROUND_UP)
