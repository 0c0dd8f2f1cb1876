import { parseOutpoint } from '@penstock/bitcoin/outpoint.ts'
import { readTransaction } from '@penstock/bitcoin/raw.ts'
import { Fault } from '@penstock/kernel/result.ts'
import { OpenRefused, type UnpublishedFunding } from '@penstock/ports/lightning.ts'
import { type AuthenticatedLnd, broadcastChainTransaction, getChainTransaction, requestChainFeeIncrease } from 'lightning'
import { freeCoinsOf } from './coin-locks.ts'
import type { Connection } from './connection.ts'
import { ownChannels } from './own-channels.ts'
import { asFault, Refusal } from './refusal.ts'

const NO_SUCH_CHANNEL = /unable to find closed channel summary/
const ALREADY_THERE = /already (have|known|exists|in)|transaction already/i

/** Never without the channel: what is paid into a funding that the peer has not signed for is lost. */
export async function publishFunding(node: Connection, { outpoint, handle }: UnpublishedFunding): Promise<void> {
  if (await published(node, outpoint)) return
  if (!(await ownChannels(node)).some((channel) => channel.outpoint === outpoint))
    throw new Fault(`the funding ${outpoint} was given up, or is not this node's`)
  try {
    await node.ask((lnd) => broadcastChainTransaction({ lnd, transaction: handle }))
  } catch (error) {
    if (!(error instanceof Refusal && ALREADY_THERE.test(error.said))) throw error
  }
}

export async function abandonFunding(node: Connection, outpoint: string): Promise<'abandoned' | 'published'> {
  if (await published(node, outpoint)) return 'published'
  try {
    await node.ask((lnd) => forget(lnd, outpoint))
  } catch (error) {
    if (!(error instanceof Refusal && NO_SUCH_CHANNEL.test(error.said))) throw error
  }
  await freeCoinsOf(node, outpoint)
  return 'abandoned'
}

/** Child pays for parent: lnd's sweeper spends the change, and again with more where that is still waiting. */
export async function bumpFunding(node: Connection, outpoint: string, feeRate: number): Promise<void> {
  const funding = await published(node, outpoint)
  if (!funding) throw new Fault(`the funding ${outpoint} is not published`)
  if (funding.isConfirmed) return
  const { txid, vout } = parsed(outpoint)
  const others = readTransaction(funding.transaction)
    .outputs.map((_, index) => index)
    .filter((index) => index !== vout)
  for (const transaction_vout of others)
    if (await raise(node, { transaction_id: txid, transaction_vout, fee_tokens_per_vbyte: Math.ceil(feeRate) })) return
  throw new OpenRefused('insufficient-funds', 'there is no change left that could pay more')
}

type Raise = { readonly transaction_id: string; readonly transaction_vout: number; readonly fee_tokens_per_vbyte: number }

/** @returns false where the output is not this wallet's */
async function raise({ ask }: Connection, request: Raise): Promise<boolean> {
  try {
    await ask((lnd) => requestChainFeeIncrease({ lnd, ...request }))
    return true
  } catch (error) {
    if (error instanceof Refusal && error.code === 404) return false
    throw error
  }
}

/** A node has a transaction of its own in its wallet from the moment that it handed it out. */
async function published(
  { ask }: Connection,
  outpoint: string,
): Promise<{ readonly transaction: string; readonly isConfirmed: boolean } | undefined> {
  try {
    const { transaction = '', is_confirmed } = await ask((lnd) => getChainTransaction({ lnd, id: parsed(outpoint).txid }))
    return { transaction, isConfirmed: is_confirmed }
  } catch (error) {
    if (error instanceof Refusal && /(can ?not find|not found)/i.test(error.said)) return undefined
    throw error
  }
}

type AbandonChannel = (
  request: { channel_point: { funding_txid_bytes: Buffer; output_index: number }; i_know_what_i_am_doing: true },
  done: (error: object | null) => void,
) => void

/** `lightning` forgets only what a confirmed transaction has double-spent; this one was never published. */
function forget(lnd: AuthenticatedLnd, outpoint: string): Promise<void> {
  const { txid, vout } = parsed(outpoint)
  const channel_point = { funding_txid_bytes: Buffer.from(txid, 'hex').reverse(), output_index: vout }
  // The package leaves lnd's own calls untyped (lightning.proto: AbandonChannel).
  const service = lnd.default as { abandonChannel: AbandonChannel }
  return new Promise((resolve, reject) =>
    service.abandonChannel({ channel_point, i_know_what_i_am_doing: true }, (error) =>
      error ? reject(asFault([503, 'UnexpectedErrorAbandoningChannel', { err: error }])) : resolve(),
    ),
  )
}

function parsed(text: string): { readonly txid: string; readonly vout: number } {
  const outpoint = parseOutpoint(text)
  if (!outpoint) throw new RangeError(`${text} is no outpoint`)
  return outpoint
}
