import { Fault } from '@penstock/kernel/result.ts'
import type { NodeInfo } from '@penstock/ports/lightning.ts'
import { withTimeout } from '@penstock/kernel/timeout.ts'
import { isAwaitingCancel } from '../hold/cancel.decide.ts'
import type { Hold } from '../hold/hold.ts'
import { payeeKey } from '../payout/payout.ts'
import { isOwing, type Settlement } from '../state.ts'
import type { GuardState, GuardSnapshot } from './guard/guard-state.ts'
import type { SettlementEffectContext } from './ports.ts'

type MoneyEffect<Command> = (state: Settlement, context: SettlementEffectContext) => Promise<Command>

const ANSWER_TIMEOUT_MS = 10_000
/** Maximum number of order ids in one log line. */
const MAX_LOGGED_ORDERS = 20

/** @returns whether the order's payment is at another node than the node with this pubkey */
export const isOnOtherNode = ({ request }: Hold, pubkey: string): boolean => request !== null && request.node !== pubkey

/** @throws Fault if the connected node is not the node with the order's payment */
export async function assertBoundNode({ lightning, clock }: SettlementEffectContext['ports'], hold: Hold): Promise<void> {
  const { pubkey } = await withTimeout(clock, ANSWER_TIMEOUT_MS, lightning.info())
  if (isOnOtherNode(hold, pubkey)) throw otherNodeFault(hold, pubkey)
}

/** Reads the info of the connected node; undefined if no node answers. */
export async function readNodeInfo({ lightning, clock }: SettlementEffectContext['ports']): Promise<NodeInfo | undefined> {
  try {
    return await withTimeout(clock, ANSWER_TIMEOUT_MS, lightning.info())
  } catch (error) {
    if (error instanceof Fault) return undefined
    throw error
  }
}

/** Whether the node has all blocks and announcements. A node that has just restarted may lack some. */
export const isNodeReady = ({ synced, graphSynced }: NodeInfo): boolean => synced && graphSynced

/** Orders that need another node for their settlement, cancellation or payout. */
export const ordersOnOtherNode = ({ orders, node }: GuardSnapshot, now: number): readonly (readonly [string, Settlement])[] =>
  node === undefined ? [] : [...orders].filter(([, state]) => isOnOtherNode(state.hold, node) && needsNode(state, now))

/** False if the invoice can no longer be paid, or the payout has no invoice to pay. */
function needsNode(state: Settlement, now: number): boolean {
  const { hold, payout } = state
  switch (hold.status) {
    case 'open':
      return hold.invoice !== null && hold.invoice.expiresAt > now
    case 'held':
    case 'settling':
      return true
    case 'settled':
    case 'cancelled':
      return (
        isAwaitingCancel(hold) ||
        (isOwing(state) &&
          (payout.paying !== null ||
            payeeKey({ creditor: payout.creditor, payee: hold.registered?.terms.sellerPubkey ?? '' }) in payout.usable))
      )
    default:
      return isAwaitingCancel(hold)
  }
}

/**
 * Logs that an operator has to reconnect the node of these orders: once, and again after each change. Meanwhile the market
 * serves the orders at the connected node.
 */
export function logOrdersOnOtherNode({ log, clock }: SettlementEffectContext['ports'], guardState: GuardState): void {
  const snapshot = guardState.snapshot.last
  const onOtherNode = snapshot ? ordersOnOtherNode(snapshot, clock.now()) : []
  const lastLogged = guardState.loggedOnOtherNode
  guardState.loggedOnOtherNode = [
    ...onOtherNode.map(([id]) => id).toSorted(),
    ...(onOtherNode.length > 0 ? [snapshot?.node] : []),
  ].join(' ')
  if (onOtherNode.length === 0 || guardState.loggedOnOtherNode === lastLogged) return
  const nodes = [...new Set(onOtherNode.map(([, { hold }]) => hold.request?.node))]
  log.error(
    {
      orders: onOtherNode.length,
      first: onOtherNode.slice(0, MAX_LOGGED_ORDERS).map(([id]) => id),
      nodes,
      connected: snapshot?.node,
    },
    'open orders were paid to a different Lightning node; reconnect it (PENSTOCK_LND_SOCKET) before they can be settled, cancelled or paid out',
  )
}

const otherNodeFault = ({ request }: Hold, pubkey: string): Fault =>
  new Fault(`the order's payment is at the node ${request?.node}, and the market is connected to ${pubkey}`)

/**
 * Runs an effect, and uses its result, only at the node that has the payment. Another node at the same address does not know the
 * payment hash. Its answer would look like the end of a hold, or like a payout that was never sent.
 */
export const bindToNode =
  <Command>(effect: MoneyEffect<Command>): MoneyEffect<Command> =>
  async (state, context) => {
    await assertBoundNode(context.ports, state.hold)
    const command = await effect(state, context)
    await assertBoundNode(context.ports, state.hold)
    return command
  }
