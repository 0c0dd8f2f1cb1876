import { type Json, objectsOf } from '../json.ts'
import type { Evidence } from './evidence.ts'
import { at, textAt } from './market.ts'
import { accountMsat } from './money-checks.ts'
import { type Check, judged, skipped } from './verdict.ts'

/** The simulated network's own books: nothing came from nowhere, and the market's node has what its ledgers say. */
export function balancesCheck({ network, reports, isWhole }: Evidence): Check {
  const name = "The network's balances agree with the ledgers"
  if (!network || !reports)
    return skipped(name, 'it needs the operator token of a market with a simulated network, and its answers')
  const { before, after, marketAlias } = network
  const [totalBefore, totalAfter] = [msat(before, 'total_msat'), msat(after, 'total_msat')]
  const lost = totalBefore === totalAfter ? [] : [`all nodes together had ${totalBefore} msat, and have ${totalAfter}`]
  if (!isWhole || msat(before, 'in_flight_msat') !== 0n) {
    const why = isWhole ? 'other payments were under way when the run began' : 'orders are still under way'
    return lost.length > 0 ? judged(name, lost, '') : skipped(name, `${why}; together the nodes have what they had`)
  }
  const gained = ofNode(after, marketAlias) - ofNode(before, marketAlias)
  const posted = [...reports.values()].reduce(
    (sum, report) => sum + accountMsat(report, 'received') + accountMsat(report, 'paid-out'),
    0n,
  )
  const heldMsat = [...network.payments.values()].includes('IN_FLIGHT') ? 0n : msat(after, 'in_flight_msat')
  const faults = [
    ...lost,
    ...(heldMsat === 0n ? [] : [`${heldMsat} msat still hang in the network, and in none of these orders`]),
    ...(gained === posted
      ? []
      : [`the market's node gained ${gained} msat, and the ledgers of these orders say ${posted} (did others trade meanwhile?)`]),
  ]
  return judged(name, faults, `the market's node gained ${gained} msat, as its ledgers say`)
}

const msat = (json: Json, name: string): bigint => BigInt(textAt(json, name))

function ofNode(balances: Json, alias: string): bigint {
  const node = objectsOf(at(balances, 'nodes')).find((one) => at(one, 'alias') === alias) ?? null
  return msat(node, 'on_chain_msat') + msat(node, 'channel_msat')
}
