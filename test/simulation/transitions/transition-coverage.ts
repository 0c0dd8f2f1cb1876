import { channelMachine } from '@penstock/channel-watcher/channel.machine.ts'
import { matchMachine } from '@penstock/matching/match.machine.ts'
import { offerMachine } from '@penstock/matching/offer.machine.ts'
import { sellerMachine } from '@penstock/matching/seller.machine.ts'
import { attemptMachine } from '@penstock/order/attempt.machine.ts'
import { orderMachine } from '@penstock/order/order.machine.ts'
import { receiveMachine } from '@penstock/payments/receive.machine.ts'
import { sendMachine } from '@penstock/payments/send.machine.ts'
import { quoteMachine } from '@penstock/quote/quote.machine.ts'
import { compileLifecycle } from '@penstock/runtime/lifecycle/lifecycle.ts'
import { holdMachine } from '@penstock/settlement/hold/hold.machine.ts'

/** The state machines of all services, by their names in reports. */
const machines = {
  order: orderMachine,
  attempt: attemptMachine,
  match: matchMachine,
  offer: offerMachine,
  seller: sellerMachine,
  hold: holdMachine,
  channel: channelMachine,
  quote: quoteMachine,
  receive: receiveMachine,
  send: sendMachine,
} as const
type MachineName = keyof typeof machines

/** `<machine>: <from> --<event>--> <to>` */
const formatTransition = (machine: MachineName, from: string, event: string, to: string): string =>
  `${machine}: ${from} --${event}--> ${to}`

export const allTransitions: readonly string[] = (Object.keys(machines) as MachineName[]).flatMap((machine) =>
  compileLifecycle<string, string>(machines[machine]).edges.map(([from, event, to]) =>
    formatTransition(machine, from, event, to),
  ),
)
const knownTransitions = new Set(allTransitions)

/** The number of times that each transition was taken, by its formatted name. */
export type TransitionCounts = Map<string, number>

type Status = { readonly status: string }
type Fact = { readonly type: string; readonly data: object }

/** Counts the transition that a fact causes in the state machine of its stream, and those of an order's attempts. */
export function countTransitions(counts: TransitionCounts, category: string, before: unknown, after: unknown, fact: Fact): void {
  const count = (machine: MachineName, from: string, event: string, to: string): void => {
    const name = formatTransition(machine, from, event, to)
    if (knownTransitions.has(name)) counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  // The casts are safe because the log folds each category with its own service.
  switch (category) {
    case 'order':
      count('order', (before as Status).status, fact.type, (after as Status).status)
      return countAttemptTransitions(before as Order, after as Order, fact, count)
    case 'match':
      return countMatchTransition(before as Match, after as Match, fact, count)
    case 'settlement':
      return count('hold', (before as Settlement).hold.status, fact.type, (after as Settlement).hold.status)
    case 'offer':
    case 'seller':
    case 'channel':
    case 'quote':
    case 'receive':
    case 'send':
      return count(category, (before as Status).status, fact.type, (after as Status).status)
    default:
  }
}

type CountTransition = (machine: MachineName, from: string, event: string, to: string) => void
type Settlement = { readonly hold: Status }
type Match = { readonly attempts: Readonly<Record<number, Status>> }
type Order = { readonly attempts?: readonly (Status & { readonly number: number })[] }

function countMatchTransition(before: Match, after: Match, { type, data }: Fact, count: CountTransition): void {
  if (!('attempt' in data) || typeof data.attempt !== 'number') return
  const to = after.attempts[data.attempt]
  if (to) count('match', before.attempts[data.attempt]?.status ?? 'NONE', type, to.status)
}

/** Counts the transitions of attempts. The order's facts map to attempt events as in services/order/src/attempt.ts. */
function countAttemptTransitions(
  { attempts: before = [] }: Order,
  { attempts: after = [] }: Order,
  { type, data }: Fact,
  count: CountTransition,
): void {
  for (const { number, status } of before) {
    const to = after.find((attempt) => attempt.number === number)?.status ?? status
    const event = attemptEventOf(type, 'attempt' in data && data.attempt === number, status, to)
    if (event !== undefined) count('attempt', status, event, to)
  }
}

function attemptEventOf(type: string, isOwnAttempt: boolean, from: string, to: string): string | undefined {
  if (type === 'AttemptStarted') return from === 'failed' ? 'Replaced' : undefined
  if (type === 'ChannelOpenRequested' || type === 'AttemptFailed' || type === 'OutpointAccepted')
    return isOwnAttempt ? type : undefined
  if (type === 'ChannelOpened' || type === 'FundingReorgedRecorded')
    return from === 'named' || from === 'opened' ? type : undefined
  return from !== to && to === 'failed' ? 'AttemptFailed' : undefined
}
