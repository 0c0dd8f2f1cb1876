import { Fault } from '@penstock/kernel/result.ts'
import { OpenRefused } from '@penstock/ports/lightning.ts'
import { z } from 'zod'

/**
 * The callable methods of each part of the network. The streams are separate: `changes` of holds and channels, and
 * `chain.tips`.
 */
export const REMOTE_CALLS = {
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
export type RemoteInterface = keyof typeof REMOTE_CALLS

/** One call over the wire. `node` is the alias of the called node, empty for the chain and the control. */
export const remoteCallSchema = z.strictObject({
  part: z.enum(Object.keys(REMOTE_CALLS) as [RemoteInterface, ...RemoteInterface[]]), // the keys of the table, which is not empty
  node: z.string().max(64),
  name: z.string().max(32),
  args: z.array(z.unknown()).max(8),
})
export type RemoteCall = z.output<typeof remoteCallSchema>

export const streamCallSchema = z.discriminatedUnion('stream', [
  z.strictObject({ stream: z.literal('tips') }),
  z.strictObject({ stream: z.literal('channels'), node: z.string().max(64) }),
  z.strictObject({ stream: z.literal('changes'), node: z.string().max(64), paymentHash: z.string().max(64) }),
])
export type StreamCall = z.output<typeof streamCallSchema>

export type RemoteResponse =
  | { readonly value?: unknown }
  | { readonly failed: { readonly kind: 'fault' | 'refused' | 'error'; readonly reason?: string; readonly message: string } }

const BIGINT_KEY = '$sat'

/** Encodes JSON with bigints; `undefined` in lists becomes null, as in JSON. */
export const encode = (value: unknown): string =>
  JSON.stringify(value, (_, part: unknown) => (typeof part === 'bigint' ? { [BIGINT_KEY]: `${part}` } : part))

/** Most texts have no bigint, and a parse that looks at each value takes several times as long. */
export const decode = (text: string): unknown =>
  text.includes(BIGINT_KEY)
    ? JSON.parse(text, (_, part: unknown) => (isEncodedBigint(part) ? BigInt(part[BIGINT_KEY]) : part))
    : JSON.parse(text)

const isEncodedBigint = (part: unknown): part is { [BIGINT_KEY]: string } =>
  typeof part === 'object' && part !== null && BIGINT_KEY in part

/** Encodes the error of a call for the calling process. */
export function toErrorResponse(error: unknown): RemoteResponse {
  const message = error instanceof Error ? error.message : String(error)
  if (error instanceof OpenRefused) return { failed: { kind: 'refused', reason: error.reason, message } }
  return { failed: { kind: error instanceof Fault ? 'fault' : 'error', message } }
}

/** @throws the error that the call threw in the other process */
export function unwrapResponse(answer: RemoteResponse): unknown {
  if (!('failed' in answer)) return answer.value
  const { kind, reason, message } = answer.failed
  if (kind === 'refused') throw new OpenRefused(reason as OpenRefused['reason'], message) // `toErrorResponse` wrote it
  throw kind === 'fault' ? new Fault(message) : new Error(message)
}
