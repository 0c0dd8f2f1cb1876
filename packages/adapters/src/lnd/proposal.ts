import { randomBytes } from 'node:crypto'
import type { EventEmitter } from 'node:events'
import { Fault } from '@penstock/kernel/result.ts'
import { OpenRefused, type OpenRequest } from '@penstock/ports/lightning.ts'
import { within } from '@penstock/ports/within.ts'
import { type AuthenticatedLnd, cancelPendingChannel, fundPendingChannels } from 'lightning'
import type { Connection } from './connection.ts'
import { asFault, Refusal } from './refusal.ts'

const NEGOTIATION_MS = 30_000
/** lnd takes back at once what it knows of; it is waited for only to keep other openings out of its way. */
const WITHDRAWN_MS = 2000

export type Accepted = { readonly address: string; readonly amountSat: string }

/** A channel on its way, from the question to the peer on. */
export type Proposal = {
  /** Resolves when the peer has accepted. @throws OpenRefused, or Fault where lnd did not tell */
  accepted(): Promise<Accepted>
  /** Hands the signed funding to lnd, which goes on with the peer. */
  fund(psbt: string): Promise<void>
  /** Resolves when both ends have signed: there is a channel. @throws OpenRefused, or Fault where lnd did not tell */
  signed(): Promise<void>
  /** Resolves when lnd has nothing left of it, or soon after it had its time. @throws Fault where lnd is away */
  withdraw(): Promise<void>
}

/**
 * Asks the peer for a channel whose funding comes later. `lightning` can do that too, and drops what lnd says afterwards:
 * that both ends have signed, or why there is no channel.
 * @param note what lnd writes beside the channel, for its owner alone
 */
export function propose(node: Connection, request: OpenRequest, note: string): Proposal {
  const id = randomBytes(32)
  const channel = id.toString('hex')
  const talk = open(node.lnd(), id, request, note)
  let waitsForFunding = false
  return {
    async accepted() {
      const funding = await inTime(node, talk.accepted, 'accept')
      waitsForFunding = true
      return { address: funding.funding_address, amountSat: funding.funding_amount }
    },
    async fund(psbt) {
      await node.ask((lnd) => fundPendingChannels({ lnd, channels: [channel], funding: psbt }))
      waitsForFunding = false
    },
    signed: () => inTime(node, talk.signed, 'sign').finally(talk.hangUp),
    async withdraw() {
      try {
        await node.ask((lnd) => cancelPendingChannel({ lnd, id: channel })).catch(unknownToLnd)
        if (waitsForFunding) await within(node.clock, WITHDRAWN_MS, talk.over).catch(late)
      } finally {
        talk.hangUp()
      }
    },
  }
}

type Funding = { readonly funding_address: string; readonly funding_amount: string }
type Update = { readonly update: 'psbt_fund' | 'chan_pending' | 'chan_open'; readonly psbt_fund?: Funding }
type Stream = EventEmitter & { cancel(): void }

/** What lnd tells on the way to a channel. */
type Talk = {
  readonly accepted: Promise<Funding>
  readonly signed: Promise<void>
  /** Resolves when lnd says no more. */
  readonly over: Promise<void>
  /** The negotiation goes on without us. */
  readonly hangUp: () => void
}

function open(lnd: AuthenticatedLnd, id: Buffer, request: OpenRequest, memo: string): Talk {
  // The package leaves lnd's own calls untyped (lightning.proto: OpenChannel).
  const service = lnd.default as { openChannel: (request: object) => Stream }
  const { peer, capacitySat, isPrivate, baseFeeMsat, feeRatePpm } = request
  const stream = service.openChannel({
    node_pubkey: Buffer.from(peer, 'hex'),
    local_funding_amount: `${capacitySat}`,
    private: isPrivate,
    min_htlc_msat: '1',
    memo,
    funding_shim: { psbt_shim: { pending_chan_id: id, no_publish: true } },
    ...(baseFeeMsat !== undefined && { use_base_fee: true, base_fee: `${baseFeeMsat}` }),
    ...(feeRatePpm !== undefined && { use_fee_rate: true, fee_rate: `${feeRatePpm}` }),
  })
  const accepted = Promise.withResolvers<Funding>()
  const signed = Promise.withResolvers<void>()
  const over = Promise.withResolvers<void>()
  // Whoever waits hears it; not everybody does.
  for (const { promise } of [accepted, signed]) promise.catch(() => undefined)
  const end = (error: unknown): void => {
    accepted.reject(error)
    signed.reject(error)
    over.resolve()
  }
  stream.on('data', ({ update, psbt_fund }: Update) => {
    if (update === 'psbt_fund' && psbt_fund) accepted.resolve(psbt_fund)
    else signed.resolve()
  })
  stream.on('error', (err: unknown) => end(asFault([503, 'UnexpectedErrorOpeningChannels', { err }])))
  stream.on('end', () => end(new Fault('lnd did not tell what became of a channel')))
  return { accepted: accepted.promise, signed: signed.promise, over: over.promise, hangUp: () => stream.cancel() }
}

/** lnd says nothing of a peer that hangs. */
async function inTime<T>({ clock }: Connection, answer: Promise<T>, what: string): Promise<T> {
  let isThere = false
  try {
    return await within(
      clock,
      NEGOTIATION_MS,
      answer.finally(() => (isThere = true)),
    )
  } catch (error) {
    throw isThere ? error : new OpenRefused('peer-refused', `the peer did not ${what} the channel within ${NEGOTIATION_MS} ms`)
  }
}

function unknownToLnd(error: unknown): void {
  if (!(error instanceof Refusal)) throw error
}

function late(error: unknown): void {
  if (!(error instanceof Fault)) throw error
}
