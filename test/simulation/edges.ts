import { channelMachine } from '@penstock/channel-watcher/channel.machine.ts'
import { attemptMachine as matchMachine } from '@penstock/matching/match.machine.ts'
import { offerMachine } from '@penstock/matching/offer.machine.ts'
import { sellerMachine } from '@penstock/matching/seller.machine.ts'
import { attemptMachine } from '@penstock/order/attempt.machine.ts'
import { orderMachine } from '@penstock/order/order.machine.ts'
import { quoteMachine } from '@penstock/quote/quote.machine.ts'
import { compile } from '@penstock/runtime/lifecycle.ts'
import { holdMachine } from '@penstock/settlement/hold.machine.ts'

/** Every machine of every service, by the name that reports use. */
const machines = {
  order: orderMachine,
  attempt: attemptMachine,
  match: matchMachine,
  offer: offerMachine,
  seller: sellerMachine,
  hold: holdMachine,
  channel: channelMachine,
  quote: quoteMachine,
} as const
type Machine = keyof typeof machines

/** `<machine>: <from> --<event>--> <to>` */
const nameOf = (machine: Machine, from: string, event: string, to: string): string => `${machine}: ${from} --${event}--> ${to}`

export const allEdges: readonly string[] = (Object.keys(machines) as Machine[]).flatMap((machine) =>
  compile<string, string>(machines[machine]).edges.map(([from, event, to]) => nameOf(machine, from, event, to)),
)
const known = new Set(allEdges)

/** How often each edge was taken. */
export type Edges = Map<string, number>

type Status = { readonly status: string }
type Fact = { readonly type: string; readonly data: object }

/** Counts the edges of one fact: of its stream's machine, and of the attempts within it. */
export function noteEdges(edges: Edges, category: string, before: unknown, after: unknown, fact: Fact): void {
  const count = (machine: Machine, from: string, event: string, to: string): void => {
    const name = nameOf(machine, from, event, to)
    if (known.has(name)) edges.set(name, (edges.get(name) ?? 0) + 1)
  }
  // Each category has the state that its own service folds.
  switch (category) {
    case 'order':
      count('order', (before as Status).status, fact.type, (after as Status).status)
      return noteAttempts(before as Order, after as Order, fact, count)
    case 'match':
      return noteMatch(before as Match, after as Match, fact, count)
    case 'settlement':
      return count('hold', (before as Settlement).hold.status, fact.type, (after as Settlement).hold.status)
    case 'offer':
    case 'seller':
    case 'channel':
    case 'quote':
      return count(category, (before as Status).status, fact.type, (after as Status).status)
    default:
  }
}

type Count = (machine: Machine, from: string, event: string, to: string) => void
type Settlement = { readonly hold: Status }
type Match = { readonly attempts: Readonly<Record<number, Status>> }
type Order = { readonly attempts?: readonly (Status & { readonly number: number })[] }

function noteMatch(before: Match, after: Match, { type, data }: Fact, count: Count): void {
  if (!('attempt' in data) || typeof data.attempt !== 'number') return
  const to = after.attempts[data.attempt]
  if (to) count('match', before.attempts[data.attempt]?.status ?? 'NONE', type, to.status)
}

/** The events of an attempt are the order's facts, seen from one seller's turn (services/order/src/attempt.ts). */
function noteAttempts(
  { attempts: before = [] }: Order,
  { attempts: after = [] }: Order,
  { type, data }: Fact,
  count: Count,
): void {
  for (const { number, status } of before) {
    const to = after.find((attempt) => attempt.number === number)?.status ?? status
    const event = eventOf(type, 'attempt' in data && data.attempt === number, status, to)
    if (event !== undefined) count('attempt', status, event, to)
  }
}

function eventOf(type: string, isOwn: boolean, from: string, to: string): string | undefined {
  if (type === 'AttemptStarted') return from === 'failed' ? 'Replaced' : undefined
  if (type === 'OpeningAsked' || type === 'AttemptFailed' || type === 'OutpointNamed') return isOwn ? type : undefined
  if (type === 'ChannelOpened' || type === 'FundingReorged') return from === 'named' || from === 'opened' ? type : undefined
  return from !== to && to === 'failed' ? 'AttemptFailed' : undefined
}
