"""Every case of the drill, by name. Each is one way in which mail could get lost or go out twice."""

from mailkoenig.rehearsal.cases import answers, clocks, crashes, database, races, receipts, returns
from mailkoenig.rehearsal.cases.case import Case

CASES: dict[str, Case] = {
    case.name: case
    for module in (races, answers, crashes, database, returns, clocks, receipts)
    for case in module.CASES
}
