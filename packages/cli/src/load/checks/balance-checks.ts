import { type Json, filterObjects } from '../../json.ts'
import type { PostRunData } from './post-run-data.ts'
import { getValueAt, getTextAt } from '../market/load-market.ts'
import { sumLedgerAccountMsat } from './ledger.ts'
import { type LoadCheckResult, concludeCheck, skipCheck } from './check-result.ts'

/** Checks the simulated network: the total of all balances is unchanged, and the market's node gained what the ledgers say. */
export function checkNetworkBalances({ network, reports, isComplete }: PostRunData): LoadCheckResult {
  const name = "The network's balances agree with the ledgers"
  if (!network || !reports)
    return skipCheck(name, 'it needs the operator token of a market with a simulated network, and its answers')
  const { before, after, marketAlias } = network
  const [totalBefore, totalAfter] = [readMsat(before, 'total_msat'), readMsat(after, 'total_msat')]
  const totalFaults =
    totalBefore === totalAfter ? [] : [`all nodes had ${totalBefore} msat before the run and ${totalAfter} msat after it`]
  if (!isComplete || readMsat(before, 'in_flight_msat') !== 0n) {
    const reason = isComplete ? 'other payments were in flight when the run started' : 'orders are unfinished'
    return totalFaults.length > 0
      ? concludeCheck(name, totalFaults, '')
      : skipCheck(name, `${reason}; the total of all nodes is unchanged`)
  }
  const gained = sumNodeMsat(after, marketAlias) - sumNodeMsat(before, marketAlias)
  const posted = [...reports.values()].reduce(
    (sum, report) => sum + sumLedgerAccountMsat(report, 'received') + sumLedgerAccountMsat(report, 'paid-out'),
    0n,
  )
  const heldMsat = [...network.payments.values()].includes('IN_FLIGHT') ? 0n : readMsat(after, 'in_flight_msat')
  const faults = [
    ...totalFaults,
    ...(heldMsat === 0n ? [] : [`${heldMsat} msat are still in flight in the network, and belong to none of these orders`]),
    ...(gained === posted
      ? []
      : [`the market's node gained ${gained} msat, and the ledgers of these orders say ${posted} (any other orders meanwhile?)`]),
  ]
  return concludeCheck(name, faults, `the market's node gained ${gained} msat, as its ledgers say`)
}

const readMsat = (json: Json, name: string): bigint => BigInt(getTextAt(json, name))

function sumNodeMsat(balances: Json, alias: string): bigint {
  const node = filterObjects(getValueAt(balances, 'nodes')).find((entry) => getValueAt(entry, 'alias') === alias) ?? null
  return readMsat(node, 'on_chain_msat') + readMsat(node, 'channel_msat')
}
