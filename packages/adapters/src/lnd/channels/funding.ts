import { parseOutpoint } from '@penstock/bitcoin/outpoint.ts'
import { readTransaction } from '@penstock/bitcoin/raw-encoding.ts'
import { virtualSize } from '@penstock/bitcoin/transaction.ts'
import { Fault } from '@penstock/kernel/result.ts'
import { OpenRefused, type OwnChannel, type UnpublishedFunding } from '@penstock/ports/lightning.ts'
import { type AuthenticatedLnd, broadcastChainTransaction, getChainTransaction } from 'lightning'
import { releaseOrphanedLocks, type OpeningTracker } from './utxo-locks.ts'
import type { LndConnection } from '../connection.ts'
import { listOwnChannels } from './own-channels.ts'
import { callGrpc } from '../grpc-calls.ts'
import { LndRefusal } from '../rpc-errors.ts'

const NO_SUCH_CHANNEL = /unable to find closed channel summary/
/** The output does not belong to the wallet, or does not exist. */
const NOT_IN_WALLET = /does not belong to the wallet|^invalid.output.index/
/** Virtual size of a child transaction with one input and one output of the wallet. */
const CHILD_VBYTES = virtualSize(1, [{ valueSat: 0n, script: '00'.repeat(34) }])
const ALREADY_KNOWN = /already (have|known|exists|in)|transaction already/i

/**
 * Publishes a funding only if lnd has its channel. Without the peer's signature, the coins in the funding output would be lost.
 */
export async function broadcastFunding(node: LndConnection, { outpoint, handle }: UnpublishedFunding): Promise<void> {
  if (await findWalletTransaction(node, outpoint)) return
  const channel = await findOwnChannel(node, outpoint)
  if (!channel) throw new Fault(`the funding ${outpoint} was abandoned, or belongs to another node`)
  if (isInBlock(channel)) return
  try {
    await node.ask((lnd) => broadcastChainTransaction({ lnd, transaction: handle }))
  } catch (error) {
    if (!(error instanceof LndRefusal && ALREADY_KNOWN.test(error.details))) throw error
  }
}

/**
 * Abandons a channel unless its funding is published. The wallet forgets an own transaction that a mempool rejects, even at a
 * start of lnd. So a funding that the wallet lacks may still be in a block, which the channel shows.
 */
export async function abandonChannel(
  node: LndConnection,
  tracker: OpeningTracker,
  outpoint: string,
): Promise<'abandoned' | 'published'> {
  if (await findWalletTransaction(node, outpoint)) return 'published'
  const channel = await findOwnChannel(node, outpoint)
  if (channel && isInBlock(channel)) return 'published'
  try {
    await node.ask((lnd) => callAbandonChannel(lnd, outpoint))
  } catch (error) {
    if (!(error instanceof LndRefusal && NO_SUCH_CHANNEL.test(error.details))) throw error
  }
  await releaseOrphanedLocks(node, tracker)
  return 'abandoned'
}

const findOwnChannel = async (node: LndConnection, outpoint: string): Promise<OwnChannel | undefined> =>
  (await listOwnChannels(node)).find((channel) => channel.outpoint === outpoint)

const isInBlock = ({ state, shortChannelId }: OwnChannel): boolean => state !== 'pending' || shortChannelId !== null

/**
 * Raises the fee by a child transaction that spends the change (child pays for parent). While the child is unconfirmed, lnd's
 * sweeper raises the fee again, up to a budget: at most half of the change, which is lnd's default.
 * @param feeRate first fee rate of the child, in sat/vB
 * @param maxRate maximum fee rate of both transactions together, in sat/vB
 */
export async function bumpFundingFee(node: LndConnection, outpoint: string, feeRate: number, maxRate: number): Promise<void> {
  const funding = await findWalletTransaction(node, outpoint)
  if (!funding) throw new Fault(`the funding ${outpoint} is not published`)
  if (funding.isConfirmed) return
  const { txid, vout } = requireOutpoint(outpoint)
  const { inputs, outputs } = readTransaction(funding.transaction)
  const maxFeeSat = Math.floor(maxRate * (virtualSize(inputs.length, outputs) + CHILD_VBYTES)) - funding.feeSat
  for (const [output_index, { valueSat }] of outputs.entries()) {
    if (output_index === vout) continue
    const budget = Math.max(1, Math.min(maxFeeSat, Math.floor(Number(valueSat) / 2)))
    if (
      await requestFeeBump(node, {
        outpoint: { txid_str: txid, output_index },
        sat_per_vbyte: Math.ceil(feeRate),
        budget,
        immediate: true,
      })
    )
      return
  }
  throw new OpenRefused('insufficient-funds', 'the funding has no change that could pay a higher fee')
}

type BumpFeeRequest = {
  readonly outpoint: { readonly txid_str: string; readonly output_index: number }
  readonly sat_per_vbyte: number
  readonly budget: number
  readonly immediate: true
}
type BumpFee = (request: BumpFeeRequest, done: (error: object | null) => void) => void

/** @returns false if the output does not belong to the wallet */
async function requestFeeBump({ ask }: LndConnection, request: BumpFeeRequest): Promise<boolean> {
  try {
    await ask((lnd) => {
      // `lightning` has no parameter for the budget, and leaves lnd's own calls untyped (walletkit.proto: BumpFee).
      const service = lnd.wallet as { bumpFee: BumpFee }
      return callGrpc('BumpFee', (done) => service.bumpFee(request, done))
    })
    return true
  } catch (error) {
    if (error instanceof LndRefusal && NOT_IN_WALLET.test(error.details)) return false
    throw error
  }
}

type WalletTransaction = { readonly transaction: string; readonly isConfirmed: boolean; readonly feeSat: number }

/** Finds a transaction in the wallet. The wallet keeps an own transaction from its publication until a mempool rejects it. */
async function findWalletTransaction({ ask }: LndConnection, outpoint: string): Promise<WalletTransaction | undefined> {
  try {
    const {
      transaction = '',
      is_confirmed,
      fee = 0,
    } = await ask((lnd) => getChainTransaction({ lnd, id: requireOutpoint(outpoint).txid }))
    return { transaction, isConfirmed: is_confirmed, feeSat: fee }
  } catch (error) {
    if (error instanceof LndRefusal && /(can ?not find|not found)/i.test(error.details)) return undefined
    throw error
  }
}

type AbandonChannel = (
  request: { channel_point: { funding_txid_bytes: Buffer; output_index: number }; i_know_what_i_am_doing: true },
  done: (error: object | null) => void,
) => void

/**
 * Abandons a channel whose funding was never published. `lightning` abandons only a channel whose funding a confirmed transaction
 * has double-spent.
 */
function callAbandonChannel(lnd: AuthenticatedLnd, outpoint: string): Promise<void> {
  const { txid, vout } = requireOutpoint(outpoint)
  const channel_point = { funding_txid_bytes: Buffer.from(txid, 'hex').reverse(), output_index: vout }
  // The package leaves lnd's own calls untyped (lightning.proto: AbandonChannel).
  const service = lnd.default as { abandonChannel: AbandonChannel }
  return callGrpc('AbandonChannel', (done) => service.abandonChannel({ channel_point, i_know_what_i_am_doing: true }, done))
}

function requireOutpoint(text: string): { readonly txid: string; readonly vout: number } {
  const outpoint = parseOutpoint(text)
  if (!outpoint) throw new RangeError(`${text} is not an outpoint`)
  return outpoint
}
