import { Fault, assertNever } from '@penstock/kernel/result.ts'
import { fundingScript, taprootFundingScript } from '@penstock/bitcoin/script.ts'
import { serialiseTransaction, type Transaction, transactionId, virtualSize } from '@penstock/bitcoin/transaction.ts'
import { OpenRefused, type OpenRequest, type UnpublishedFunding } from '@penstock/ports/lightning.ts'
import { acceptTransaction, readHeight } from '../chain.ts'
import { type SimChannelRow, findChannel, notifyEnds } from './channels.ts'
import { areConnected, deriveNodePubkey, findNode, type SimNodeRow } from '../nodes.ts'
import type { SimnetStore } from '../store.ts'
import { draftPayment, lockCoins, unlockCoins } from '../wallet.ts'

// lnd's bounds of a channel, and its default fees.
const MIN_CAPACITY_SAT = 20_000n
const MAX_CAPACITY_SAT = 1_000_000_000n
const DEFAULT_BASE_FEE_MSAT = 1000n
const DEFAULT_FEE_RATE_PPM = 1
/** Blocks after the negotiation for which the peer waits for a funding (lnd: `MaxWaitNumBlocksFundingConf`). */
const FUNDING_WAIT_BLOCKS = 2016

/** `isTaproot` requests a channel type that only a manual opening uses, and that cannot be announced. */
export type SimOpenRequest = OpenRequest & { readonly isTaproot?: boolean }

/** Negotiates a channel without publishing its funding. @throws OpenRefused */
export function prepareFunding(
  store: SimnetStore,
  node: SimNodeRow,
  { isTaproot = false, ...request }: SimOpenRequest,
): UnpublishedFunding {
  if (node.behaviour === 'never-open') throw new OpenRefused('node-failed', 'the node opens no channels')
  if (isTaproot && !request.isPrivate) throw new OpenRefused('node-failed', 'taproot channels must be private')
  if (request.capacitySat < MIN_CAPACITY_SAT || request.capacitySat > MAX_CAPACITY_SAT)
    throw new OpenRefused('node-failed', `a channel has ${MIN_CAPACITY_SAT} to ${MAX_CAPACITY_SAT} sat`)
  if (!areConnected(store, node.pubkey, request.peer)) throw new OpenRefused('peer-offline', `not connected to ${request.peer}`)
  if (isRefusingOpenings(store, request.peer)) throw new OpenRefused('peer-refused', `${request.peer} refuses channels`)
  const capacitySat = node.behaviour === 'wrong-size' ? request.capacitySat / 2n : request.capacitySat
  const peer = node.behaviour === 'wrong-peer' ? pickOtherNode(store, node.pubkey, request.peer) : request.peer

  const id = Number(store.get<{ next: bigint }>('SELECT coalesce(max(id), 0) + 1 AS next FROM channels')?.next ?? 1n)
  const [ourKey, theirKey] = [
    deriveNodePubkey(store, `funding/${id}/${node.pubkey}`),
    deriveNodePubkey(store, `funding/${id}/${peer}`),
  ]
  const script = (isTaproot ? taprootFundingScript : fundingScript)(ourKey, theirKey)
  const draft = draftPayment(store, node, { valueSat: capacitySat, script }, request.feeRateSatPerVbyte)
  if (!draft) throw new OpenRefused('insufficient-funds', `the wallet has too few confirmed coins for ${capacitySat} sat`)
  const txid = transactionId(draft.transaction)
  const vout = draft.transaction.outputs.findIndex((output) => output.script === script)
  const outpoint = `${txid}:${vout}`
  const raw = serialiseTransaction(draft.transaction)
  lockCoins(store, draft.transaction, outpoint)
  store.run(
    `INSERT INTO channels (id, outpoint, txid, vout, a, b, a_key, b_key, capacity_sat, is_private, raw, fee_sat, vsize, state,
       a_msat, b_msat, a_base_msat, a_ppm, b_base_msat, b_ppm, claimed_peer, claimed_sat, pending_until, is_taproot)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'prepared', ?, 0, ?, ?, ?, ?, ?, ?, ?, ?)`,
    id,
    outpoint,
    txid,
    vout,
    node.pubkey,
    peer,
    ourKey,
    theirKey,
    capacitySat,
    request.isPrivate ? 1 : 0,
    JSON.stringify(draft.transaction, bigintToText),
    draft.feeSat,
    draft.vsize,
    capacitySat * 1000n,
    request.baseFeeMsat ?? DEFAULT_BASE_FEE_MSAT,
    request.feeRatePpm ?? DEFAULT_FEE_RATE_PPM,
    DEFAULT_BASE_FEE_MSAT,
    DEFAULT_FEE_RATE_PPM,
    request.peer,
    request.capacitySat,
    readHeight(store) + FUNDING_WAIT_BLOCKS,
    isTaproot ? 1 : 0,
  )
  notifyEnds(store, { a: node.pubkey, b: peer })
  return { outpoint, handle: raw }
}

/** Makes a node refuse every opening to it, or accept them again. The setting survives restarts. */
export function setRefusesOpenings(store: SimnetStore, pubkey: string, isRefusing: boolean): void {
  if (isRefusing) store.run('INSERT OR REPLACE INTO meta VALUES (?, ?)', `refuses_openings/${pubkey}`, '1')
  else store.run('DELETE FROM meta WHERE key = ?', `refuses_openings/${pubkey}`)
}

const isRefusingOpenings = (store: SimnetStore, pubkey: string): boolean =>
  store.get('SELECT 1 FROM meta WHERE key = ?', `refuses_openings/${pubkey}`) !== undefined

/**
 * Broadcasts a prepared funding; a repeat is harmless. @throws Fault for a funding that this node never prepared or has abandoned
 */
export function publishFunding(store: SimnetStore, node: SimNodeRow, funding: UnpublishedFunding): void {
  const channel = requireOwnFunding(store, node, funding.outpoint)
  switch (channel.state) {
    case 'abandoned':
      throw new Fault('this funding was abandoned')
    case 'vanished':
      return
    case 'published':
      return rebroadcastFunding(store, funding.outpoint)
    case 'prepared':
      break
    default:
      assertNever(channel.state)
  }
  if (node.behaviour === 'vanish') return setState(store, channel, 'vanished')
  acceptTransaction(store, parseTransaction(channel.raw), { feeSat: channel.fee_sat, vsize: Number(channel.vsize) })
  setState(store, channel, 'published')
}

/** Broadcasts a published funding again, because mempools may have forgotten it. @throws Fault if its coins are spent */
export function rebroadcastFunding(store: SimnetStore, outpoint: string): void {
  const channel = findChannel(store, outpoint)
  if (channel?.state !== 'published') throw new Fault(`${outpoint} was never published`)
  acceptTransaction(store, parseTransaction(channel.raw), { feeSat: channel.fee_sat, vsize: Number(channel.vsize) })
}

/**
 * Abandons a funding; an unknown funding counts as abandoned. As with lnd, a published funding that the wallet has forgotten can
 * be abandoned too.
 * @returns 'published' if the funding is in the mempool or a block
 */
export function abandonFunding(store: SimnetStore, node: SimNodeRow, outpoint: string): 'abandoned' | 'published' {
  if (!findChannel(store, outpoint)) return 'abandoned'
  const channel = requireOwnFunding(store, node, outpoint)
  if (channel.state === 'published' && channel.is_seen === 1n) return 'published'
  unlockCoins(store, outpoint)
  setState(store, channel, 'abandoned')
  forgetAbandonedFundings(store)
  return 'abandoned'
}

/** Makes nodes forget abandoned openings of their peers once the funding wait has passed. It runs on each block. */
export function forgetAbandonedFundings(store: SimnetStore): void {
  store.run("UPDATE channels SET pending_until = NULL WHERE state = 'abandoned' AND pending_until <= ?", readHeight(store))
}

/**
 * Raises the fee by a child transaction (child pays for parent). The child spends the change back to the wallet and pays the fee
 * for both transactions.
 * @throws OpenRefused if the change is too small
 */
export function bumpFeeByChild(store: SimnetStore, node: SimNodeRow, outpoint: string, feeRate: number): void {
  const channel = requireOwnFunding(store, node, outpoint)
  if (channel.state !== 'published' || channel.funding_height !== null) return
  const change = store.get<{ vout: bigint; value_sat: bigint }>(
    'SELECT vout, value_sat FROM outputs WHERE txid = ? AND owner = ? AND spent_by IS NULL',
    channel.txid,
    node.pubkey,
  )
  const size = virtualSize(1, [{ valueSat: 0n, script: node.script }])
  const missingFeeSat = BigInt(Math.ceil(feeRate * (size + Number(channel.vsize)))) - channel.fee_sat
  const feeSat = missingFeeSat > BigInt(size) ? missingFeeSat : BigInt(size)
  if (!change || change.value_sat <= feeSat)
    throw new OpenRefused('insufficient-funds', 'the funding has no change that could pay a higher fee')
  const child: Transaction = {
    inputs: [{ txid: channel.txid, vout: Number(change.vout) }],
    outputs: [{ valueSat: change.value_sat - feeSat, script: node.script }],
  }
  acceptTransaction(store, child, { feeSat, vsize: size })
}

function requireOwnFunding(store: SimnetStore, node: SimNodeRow, outpoint: string): SimChannelRow {
  const channel = findChannel(store, outpoint)
  if (channel?.a !== node.pubkey) throw new Fault(`${node.alias} prepared no funding ${outpoint}`)
  return channel
}

function setState(store: SimnetStore, channel: SimChannelRow, state: SimChannelRow['state']): void {
  store.run('UPDATE channels SET state = ? WHERE outpoint = ?', state, channel.outpoint)
  notifyEnds(store, channel)
}

/** Picks the node to which a `wrong-peer` node opens its channels: a spare node, if there is one. */
function pickOtherNode(store: SimnetStore, self: string, peer: string): string {
  const row = store.get<{ pubkey: string }>(
    "SELECT pubkey FROM nodes WHERE pubkey NOT IN (?, ?) ORDER BY role = 'spare' DESC, position LIMIT 1",
    self,
    peer,
  )
  const other = row && findNode(store, row.pubkey)
  if (!other) throw new OpenRefused('node-failed', 'there is no other node')
  return other.pubkey
}

const bigintToText = (_: string, value: unknown): unknown => (typeof value === 'bigint' ? `${value}` : value)

function parseTransaction(text: string): Transaction {
  // Only prepareFunding writes this text, with the amounts as strings.
  const { inputs, outputs } = JSON.parse(text) as {
    inputs: Transaction['inputs']
    outputs: { valueSat: string; script: string }[]
  }
  return { inputs, outputs: outputs.map(({ valueSat, script }) => ({ valueSat: BigInt(valueSat), script })) }
}
