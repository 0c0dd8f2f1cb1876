import { parseOutpoint } from '@penstock/bitcoin/outpoint.ts'
import { readTransaction } from '@penstock/bitcoin/raw.ts'
import { virtualSize } from '@penstock/bitcoin/transaction.ts'
import { Fault } from '@penstock/kernel/result.ts'
import { OpenRefused, type OwnChannel, type UnpublishedFunding } from '@penstock/ports/lightning.ts'
import { type AuthenticatedLnd, broadcastChainTransaction, getChainTransaction } from 'lightning'
import { freeForgotten, type Openings } from './coin-locks.ts'
import type { Connection } from './connection.ts'
import { ownChannels } from './own-channels.ts'
import { asked } from './raw-calls.ts'
import { Refusal } from './refusal.ts'

const NO_SUCH_CHANNEL = /unable to find closed channel summary/
/** The output is another's, or there is none of that number. */
const NOT_OURS = /does not belong to the wallet|^invalid.output.index/
/** One coin of the wallet, and one output to it. */
const CHILD_VBYTES = virtualSize(1, [{ valueSat: 0n, script: '00'.repeat(34) }])
const ALREADY_THERE = /already (have|known|exists|in)|transaction already/i

/** Never without the channel: what is paid into a funding that the peer has not signed for is lost. */
export async function publishFunding(node: Connection, { outpoint, handle }: UnpublishedFunding): Promise<void> {
  if (await published(node, outpoint)) return
  const channel = await channelOf(node, outpoint)
  if (!channel) throw new Fault(`the funding ${outpoint} was given up, or is not this node's`)
  if (isInBlock(channel)) return
  try {
    await node.ask((lnd) => broadcastChainTransaction({ lnd, transaction: handle }))
  } catch (error) {
    if (!(error instanceof Refusal && ALREADY_THERE.test(error.said))) throw error
  }
}

/** The wallet alone is no witness: it forgets a transaction of its own that a mempool rejects, also at a start of lnd. */
export async function abandonFunding(node: Connection, openings: Openings, outpoint: string): Promise<'abandoned' | 'published'> {
  if (await published(node, outpoint)) return 'published'
  const channel = await channelOf(node, outpoint)
  if (channel && isInBlock(channel)) return 'published'
  try {
    await node.ask((lnd) => forget(lnd, outpoint))
  } catch (error) {
    if (!(error instanceof Refusal && NO_SUCH_CHANNEL.test(error.said))) throw error
  }
  await freeForgotten(node, openings)
  return 'abandoned'
}

const channelOf = async (node: Connection, outpoint: string): Promise<OwnChannel | undefined> =>
  (await ownChannels(node)).find((channel) => channel.outpoint === outpoint)

const isInBlock = ({ state, shortChannelId }: OwnChannel): boolean => state !== 'pending' || shortChannelId !== null

/**
 * Child pays for parent: lnd's sweeper spends the change, and again with more where that is still waiting, up to its budget:
 * without one, half of the change.
 */
export async function bumpFunding(node: Connection, outpoint: string, feeRate: number, maxRate: number): Promise<void> {
  const funding = await published(node, outpoint)
  if (!funding) throw new Fault(`the funding ${outpoint} is not published`)
  if (funding.isConfirmed) return
  const { txid, vout } = parsed(outpoint)
  const { inputs, outputs } = readTransaction(funding.transaction)
  const most = Math.floor(maxRate * (virtualSize(inputs.length, outputs) + CHILD_VBYTES)) - funding.feeSat
  for (const [output_index, { valueSat }] of outputs.entries()) {
    if (output_index === vout) continue
    const budget = Math.max(1, Math.min(most, Math.floor(Number(valueSat) / 2)))
    if (
      await raise(node, {
        outpoint: { txid_str: txid, output_index },
        sat_per_vbyte: Math.ceil(feeRate),
        budget,
        immediate: true,
      })
    )
      return
  }
  throw new OpenRefused('insufficient-funds', 'there is no change left that could pay more')
}

type Raise = {
  readonly outpoint: { readonly txid_str: string; readonly output_index: number }
  readonly sat_per_vbyte: number
  readonly budget: number
  readonly immediate: true
}
type BumpFee = (request: Raise, done: (error: object | null) => void) => void

/** @returns false where the output is not this wallet's */
async function raise({ ask }: Connection, request: Raise): Promise<boolean> {
  try {
    await ask((lnd) => {
      // `lightning` knows no budget, and leaves lnd's own calls untyped (walletkit.proto: BumpFee).
      const service = lnd.wallet as { bumpFee: BumpFee }
      return asked('BumpFee', (done) => service.bumpFee(request, done))
    })
    return true
  } catch (error) {
    if (error instanceof Refusal && NOT_OURS.test(error.said)) return false
    throw error
  }
}

type Published = { readonly transaction: string; readonly isConfirmed: boolean; readonly feeSat: number }

/** A node has a transaction of its own in its wallet from the moment that it handed it out, until a mempool rejects it. */
async function published({ ask }: Connection, outpoint: string): Promise<Published | undefined> {
  try {
    const {
      transaction = '',
      is_confirmed,
      fee = 0,
    } = await ask((lnd) => getChainTransaction({ lnd, id: parsed(outpoint).txid }))
    return { transaction, isConfirmed: is_confirmed, feeSat: fee }
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
  return asked('AbandonChannel', (done) => service.abandonChannel({ channel_point, i_know_what_i_am_doing: true }, done))
}

function parsed(text: string): { readonly txid: string; readonly vout: number } {
  const outpoint = parseOutpoint(text)
  if (!outpoint) throw new RangeError(`${text} is no outpoint`)
  return outpoint
}
