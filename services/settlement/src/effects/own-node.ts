import type { SettlementCommand } from '@penstock/contracts/settlement.ts'
import { Fault } from '@penstock/kernel/result.ts'
import { within } from '@penstock/ports/within.ts'
import type { Effect } from '@penstock/runtime/service.ts'
import type { Hold } from '../hold.ts'
import { settlementProcess } from '../settlement.process.ts'
import type { Settlement } from '../state.ts'
import type { Sight } from './custody.ts'
import type { Context, SettlementPorts } from './ports.ts'

type MoneyEffect = Effect<Settlement, SettlementCommand, SettlementPorts>

const ANSWER_TIMEOUT_MS = 10_000

/** @returns whether the order's payment is at another node than this one */
export const isElsewhere = ({ request }: Hold, pubkey: string): boolean => request !== null && request.node !== pubkey

/** @throws Fault where the node that answers us is not the one that has the order's payment */
export async function atItsNode({ lightning, clock }: Context['ports'], hold: Hold): Promise<void> {
  const { pubkey } = await within(clock, ANSWER_TIMEOUT_MS, lightning.info())
  if (isElsewhere(hold, pubkey)) throw elsewhere(hold, pubkey)
}

/** The node that answers us now; undefined where none does. */
export async function nodeNow({ lightning, clock }: Context['ports']): Promise<string | undefined> {
  try {
    return (await within(clock, ANSWER_TIMEOUT_MS, lightning.info())).pubkey
  } catch (error) {
    if (error instanceof Fault) return undefined
    throw error
  }
}

/** Orders that wait for what only another node can do. */
export const strandedIn = ({ orders, node }: Sight): readonly Settlement[] =>
  node === undefined
    ? []
    : [...orders].flatMap(([id, state]) =>
        isElsewhere(state.hold, node) && settlementProcess(state, id).length > 0 ? [state] : [],
      )

/** Says what an operator has to do about them. @returns whether there are any */
export function tellStranded({ log, unready }: Context['ports'], sight: Sight | undefined): boolean {
  const stranded = sight ? strandedIn(sight) : []
  const nodes = [...new Set(stranded.map(({ hold }) => hold.request?.node))].join(', ')
  const reason =
    stranded.length === 0
      ? undefined
      : `The money of ${stranded.length} open orders is at ${nodes}, and the market is connected to ${sight?.node}. Connect it to that node again (PENSTOCK_LND_SOCKET) until they have ended; nothing of theirs is settled, given back or paid before.`
  if (reason !== undefined) log.error({ orders: stranded.length, node: sight?.node }, reason)
  unready?.(reason)
  return reason !== undefined
}

export const elsewhere = ({ request }: Hold, pubkey: string): Fault =>
  new Fault(`the order's payment is at the node ${request?.node}, and the market is connected to ${pubkey}`)

/**
 * What an effect does and learns counts at the node that has the payment alone. Another one, behind the same address, has
 * never heard of the hash: its silence would be taken for the end of a hold, or for a payout that was never sent.
 */
export const boundToNode =
  (effect: MoneyEffect): MoneyEffect =>
  async (state, context) => {
    await atItsNode(context.ports, state.hold)
    const told = await effect(state, context)
    await atItsNode(context.ports, state.hold)
    return told
  }
