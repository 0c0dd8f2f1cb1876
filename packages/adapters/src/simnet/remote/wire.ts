import { Fault } from '@penstock/kernel/result.ts'
import { OpenRefused } from '@penstock/ports/lightning.ts'
import { z } from 'zod'

/** What can be called at each part of the network; the streams, `changes` of holds and channels and `chain.tips`, are beside it. */
export const CALLS = {
  node: ['info'],
  holds: ['create', 'find', 'settle', 'cancel', 'held'],
  payments: ['pay', 'find', 'createInvoice', 'findInvoice'],
  messages: ['sign', 'recover'],
  peers: ['connect', 'isConnected', 'addresses'],
  graph: ['channel', 'between', 'probe'],
  channels: ['list', 'closed', 'prepare', 'publish', 'abandon', 'bumpFee', 'close'],
  wallet: ['confirmedSat', 'inboundSat', 'localSat'],
  chain: ['tip', 'output', 'enteredMempoolAt', 'feeRate'],
  control: [
    'nodes',
    'pay',
    'payment',
    'channels',
    'mine',
    'reorg',
    'behave',
    'setOnline',
    'holdProbes',
    'refuseOpenings',
    'sign',
    'invoice',
    'invoiceStatus',
    'open',
    'close',
    'doubleSpend',
    'forget',
    'rebroadcast',
    'feeFloor',
    'balances',
  ],
} as const
export type Part = keyof typeof CALLS

/** One call over the wire. `node` is the alias of whom it is made, empty for the chain and the control. */
export const callShape = z.strictObject({
  part: z.enum(Object.keys(CALLS) as [Part, ...Part[]]), // the keys of the table, which is not empty
  node: z.string().max(64),
  name: z.string().max(32),
  args: z.array(z.unknown()).max(8),
})
export type Call = z.output<typeof callShape>

export const streamShape = z.discriminatedUnion('stream', [
  z.strictObject({ stream: z.literal('tips') }),
  z.strictObject({ stream: z.literal('channels'), node: z.string().max(64) }),
  z.strictObject({ stream: z.literal('changes'), node: z.string().max(64), paymentHash: z.string().max(64) }),
])
export type StreamCall = z.output<typeof streamShape>

export type Answer =
  | { readonly value?: unknown }
  | { readonly failed: { readonly kind: 'fault' | 'refused' | 'error'; readonly reason?: string; readonly message: string } }

const BIG = '$sat'

/** JSON with whole numbers of any size; `undefined` within lists is null, as in JSON. */
export const encode = (value: unknown): string =>
  JSON.stringify(value, (_, part: unknown) => (typeof part === 'bigint' ? { [BIG]: `${part}` } : part))

export const decode = (text: string): unknown => JSON.parse(text, (_, part: unknown) => (isBig(part) ? BigInt(part[BIG]) : part))

const isBig = (part: unknown): part is { [BIG]: string } => typeof part === 'object' && part !== null && BIG in part

/** What a call ended with, for the other side. */
export function failure(error: unknown): Answer {
  const message = error instanceof Error ? error.message : String(error)
  if (error instanceof OpenRefused) return { failed: { kind: 'refused', reason: error.reason, message } }
  return { failed: { kind: error instanceof Fault ? 'fault' : 'error', message } }
}

/** @throws what the call threw at the other side */
export function valueOf(answer: Answer): unknown {
  if (!('failed' in answer)) return answer.value
  const { kind, reason, message } = answer.failed
  if (kind === 'refused') throw new OpenRefused(reason as OpenRefused['reason'], message) // `failure` wrote it
  throw kind === 'fault' ? new Fault(message) : new Error(message)
}
