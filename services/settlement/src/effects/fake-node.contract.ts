import { paymentHashOf } from '@penstock/bitcoin/hex.ts'
import {
  AddressRefused,
  type CancelOutcome,
  type Invoice,
  type PaymentState,
  type SettleOutcome,
} from '@penstock/ports/lightning.ts'
import { fact, HASH, NOW, node, ORDER, payoutInvoice, requested, stranger } from '../samples.contract.ts'
import type { Context } from './ports.ts'

export const PREIMAGE = '11'.repeat(32)
/** A hold whose hash the fake keyring can open. */
export const ours = fact('HoldRequested', { ...requested.data, paymentHash: paymentHashOf(PREIMAGE) })
export const invoiceIn = (state: Invoice['state'], change: Partial<Invoice> = {}): Invoice => ({
  paymentHash: HASH,
  request: payoutInvoice().request,
  amountMsat: 5_000_000n,
  state,
  htlcs: [
    {
      amountMsat: 5_000_000n,
      expiryHeight: 1000,
      peer: stranger,
      state: state === 'settled' ? 'settled' : 'held',
      acceptedAt: null,
    },
  ],
  ...change,
})

type Fakes = {
  invoice?: Invoice | undefined
  settle?: SettleOutcome
  cancel?: CancelOutcome
  payment?: PaymentState | undefined
  paid?: PaymentState
  stillAsked?: boolean
  node?: object
  tip?: object
  connected?: boolean
  answering?: readonly string[]
  known?: readonly string[]
  /** Sockets that the node must not connect to. */
  forbidden?: readonly string[]
}
/** A node that answers as it is told, and what it was asked. */
export function fake(answers: Fakes = {}) {
  const calls: string[] = []
  const asked = <T>(call: string, answer: T): Promise<T> => {
    calls.push(call)
    return Promise.resolve(answer)
  }
  const ports = {
    lightning: {
      info: () => Promise.resolve({ pubkey: node, synced: true, graphSynced: true, height: 900, ...answers.node }),
      holds: {
        find: () => asked('find', answers.invoice),
        create: () => asked('create', invoiceIn('open')),
        settle: () => asked('settle', answers.settle ?? 'settled'),
        cancel: () => asked('cancel', answers.cancel ?? 'cancelled'),
      },
      payments: {
        find: () => asked('find payment', answers.payment),
        pay: (_: string, { maxFeeMsat }: { maxFeeMsat: bigint }) =>
          asked(`pay at most ${maxFeeMsat}`, answers.paid ?? { state: 'succeeded', preimage: PREIMAGE, feeMsat: 7n }),
      },
      peers: {
        isConnected: () => asked('is connected', answers.connected ?? false),
        connect: (_: string, socket: string) =>
          answers.forbidden?.includes(socket)
            ? Promise.reject(new AddressRefused(`${socket} is not public`))
            : asked(`connect ${socket}`, answers.answering?.includes(socket) ?? false),
        addresses: () => asked('addresses', { alias: 'b', sockets: answers.known ?? [] }),
      },
      graph: {
        channel: () => asked('channel', undefined),
        between: () => asked('between', []),
        probe: () => asked('probe', { reached: true }),
      },
    },
    chain: {
      tip: () => Promise.resolve({ height: 900, synced: true, ...answers.tip }),
      output: () => asked('output', undefined),
    },
    keyring: { preimageOf: () => PREIMAGE },
    network: 'mainnet',
    clock: { now: () => NOW, monotonicMs: () => NOW, sleep: () => new Promise(() => undefined) },
  }
  // Only what effects call is there; another call would fail the test.
  const stillAsked = () => Promise.resolve(answers.stillAsked ?? true)
  const { signal } = new AbortController()
  return { calls, context: { id: ORDER, ports: ports as unknown as Context['ports'], signal, stillAsked } }
}
