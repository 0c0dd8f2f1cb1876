import { Fault, never } from '@penstock/kernel/result.ts'
import { fundingScript, taprootFundingScript } from '@penstock/bitcoin/script.ts'
import { serialiseTransaction, type Transaction, transactionId, virtualSize } from '@penstock/bitcoin/transaction.ts'
import { OpenRefused, type OpenRequest, type UnpublishedFunding } from '@penstock/ports/lightning.ts'
import { acceptTransaction, heightOf } from './chain.ts'
import { type Channel, findChannel, touchEnds } from './channels.ts'
import { areConnected, derivedPubkey, findNode, type Node } from './nodes.ts'
import type { Net } from './store.ts'
import { draftPayment, lockCoins, unlockCoins } from './wallet.ts'

// lnd's own bounds, and its fees where the owner sets none.
const MIN_CAPACITY_SAT = 20_000n
const MAX_CAPACITY_SAT = 1_000_000_000n
const DEFAULT_BASE_FEE_MSAT = 1000n
const DEFAULT_FEE_RATE_PPM = 1
/** For how long the other end waits for a funding from when it heard of it (lnd: `MaxWaitNumBlocksFundingConf`). */
const FUNDING_WAIT_BLOCKS = 2016

/** `isTaproot`: of the kind that only a node's owner asks it for, by hand; it cannot be announced. */
export type Opening = OpenRequest & { readonly isTaproot?: boolean }

/** Negotiates a channel and keeps its funding back. @throws OpenRefused */
export function prepareFunding(net: Net, node: Node, { isTaproot = false, ...request }: Opening): UnpublishedFunding {
  if (node.behaviour === 'never-open') throw new OpenRefused('node-failed', 'the node opens no channels')
  if (isTaproot && !request.isPrivate) throw new OpenRefused('node-failed', 'taproot channels must be private')
  if (request.capacitySat < MIN_CAPACITY_SAT || request.capacitySat > MAX_CAPACITY_SAT)
    throw new OpenRefused('node-failed', `a channel has ${MIN_CAPACITY_SAT} to ${MAX_CAPACITY_SAT} sat`)
  if (!areConnected(net, node.pubkey, request.peer)) throw new OpenRefused('peer-offline', `not connected to ${request.peer}`)
  if (refusesOpenings(net, request.peer)) throw new OpenRefused('peer-refused', `${request.peer} wants no channel`)
  const capacitySat = node.behaviour === 'wrong-size' ? request.capacitySat / 2n : request.capacitySat
  const peer = node.behaviour === 'wrong-peer' ? somebodyElse(net, node.pubkey, request.peer) : request.peer

  const id = Number(net.get<{ next: bigint }>('SELECT coalesce(max(id), 0) + 1 AS next FROM channels')?.next ?? 1n)
  const [ourKey, theirKey] = [derivedPubkey(net, `funding/${id}/${node.pubkey}`), derivedPubkey(net, `funding/${id}/${peer}`)]
  const script = (isTaproot ? taprootFundingScript : fundingScript)(ourKey, theirKey)
  const draft = draftPayment(net, node, { valueSat: capacitySat, script }, request.feeRateSatPerVbyte)
  if (!draft) throw new OpenRefused('insufficient-funds', `the wallet has too few confirmed coins for ${capacitySat} sat`)
  const txid = transactionId(draft.transaction)
  const vout = draft.transaction.outputs.findIndex((output) => output.script === script)
  const outpoint = `${txid}:${vout}`
  const raw = serialiseTransaction(draft.transaction)
  lockCoins(net, draft.transaction, outpoint)
  net.run(
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
    JSON.stringify(draft.transaction, bigintAsText),
    draft.feeSat,
    draft.vsize,
    capacitySat * 1000n,
    request.baseFeeMsat ?? DEFAULT_BASE_FEE_MSAT,
    request.feeRatePpm ?? DEFAULT_FEE_RATE_PPM,
    DEFAULT_BASE_FEE_MSAT,
    DEFAULT_FEE_RATE_PPM,
    request.peer,
    request.capacitySat,
    heightOf(net) + FUNDING_WAIT_BLOCKS,
    isTaproot ? 1 : 0,
  )
  touchEnds(net, { a: node.pubkey, b: peer })
  return { outpoint, handle: raw }
}

/** A node that refuses openings takes no channel from anybody; it stays so through restarts. */
export function setRefusesOpenings(net: Net, pubkey: string, refuses: boolean): void {
  if (refuses) net.run('INSERT OR REPLACE INTO meta VALUES (?, ?)', `refuses_openings/${pubkey}`, '1')
  else net.run('DELETE FROM meta WHERE key = ?', `refuses_openings/${pubkey}`)
}

const refusesOpenings = (net: Net, pubkey: string): boolean =>
  net.get('SELECT 1 FROM meta WHERE key = ?', `refuses_openings/${pubkey}`) !== undefined

/** Hands a prepared funding to the network; again is harmless. @throws Fault for what this node never prepared or gave up */
export function publishFunding(net: Net, node: Node, funding: UnpublishedFunding): void {
  const channel = ownFunding(net, node, funding.outpoint)
  switch (channel.state) {
    case 'abandoned':
      throw new Fault('this funding was given up')
    case 'vanished':
      return
    case 'published':
      return sendAgain(net, funding.outpoint)
    case 'prepared':
      break
    default:
      never(channel.state)
  }
  if (node.behaviour === 'vanish') return setState(net, channel, 'vanished')
  acceptTransaction(net, readTransaction(channel.raw), { feeSat: channel.fee_sat, vsize: Number(channel.vsize) })
  setState(net, channel, 'published')
}

/** Once more what was published: mempools may have forgotten it. @throws Fault where its coins are spent by now */
export function sendAgain(net: Net, outpoint: string): void {
  const channel = findChannel(net, outpoint)
  if (channel?.state !== 'published') throw new Fault(`${outpoint} was never published`)
  acceptTransaction(net, readTransaction(channel.raw), { feeSat: channel.fee_sat, vsize: Number(channel.vsize) })
}

/**
 * One that is not there is given up already. As with lnd, a wallet that has forgotten what it published says nothing against
 * it. @returns 'published' where it is too late
 */
export function abandonFunding(net: Net, node: Node, outpoint: string): 'abandoned' | 'published' {
  if (!findChannel(net, outpoint)) return 'abandoned'
  const channel = ownFunding(net, node, outpoint)
  if (channel.state === 'published' && channel.is_seen === 1n) return 'published'
  unlockCoins(net, outpoint)
  setState(net, channel, 'abandoned')
  forgetFundings(net)
  return 'abandoned'
}

/** What every node does on a block: forgets the openings of others that were given up, once it has waited long enough. */
export function forgetFundings(net: Net): void {
  net.run("UPDATE channels SET pending_until = NULL WHERE state = 'abandoned' AND pending_until <= ?", heightOf(net))
}

/** Child pays for parent: spends the change to the wallet itself, with the fee for both. @throws OpenRefused where no change is left */
export function bumpFunding(net: Net, node: Node, outpoint: string, feeRate: number): void {
  const channel = ownFunding(net, node, outpoint)
  if (channel.state !== 'published' || channel.funding_height !== null) return
  const change = net.get<{ vout: bigint; value_sat: bigint }>(
    'SELECT vout, value_sat FROM outputs WHERE txid = ? AND owner = ? AND spent_by IS NULL',
    channel.txid,
    node.pubkey,
  )
  const size = virtualSize(1, [{ valueSat: 0n, script: node.script }])
  const wanted = BigInt(Math.ceil(feeRate * (size + Number(channel.vsize)))) - channel.fee_sat
  const feeSat = wanted > BigInt(size) ? wanted : BigInt(size)
  if (!change || change.value_sat <= feeSat)
    throw new OpenRefused('insufficient-funds', 'there is no change left that could pay more')
  const child: Transaction = {
    inputs: [{ txid: channel.txid, vout: Number(change.vout) }],
    outputs: [{ valueSat: change.value_sat - feeSat, script: node.script }],
  }
  acceptTransaction(net, child, { feeSat, vsize: size })
}

function ownFunding(net: Net, node: Node, outpoint: string): Channel {
  const channel = findChannel(net, outpoint)
  if (channel?.a !== node.pubkey) throw new Fault(`${node.alias} prepared no funding ${outpoint}`)
  return channel
}

function setState(net: Net, channel: Channel, state: Channel['state']): void {
  net.run('UPDATE channels SET state = ? WHERE outpoint = ?', state, channel.outpoint)
  touchEnds(net, channel)
}

/** Where a `wrong-peer` node opens its channels: to a node that nobody trades with, if there is one. */
function somebodyElse(net: Net, self: string, peer: string): string {
  const row = net.get<{ pubkey: string }>(
    "SELECT pubkey FROM nodes WHERE pubkey NOT IN (?, ?) ORDER BY role = 'spare' DESC, position LIMIT 1",
    self,
    peer,
  )
  const other = row && findNode(net, row.pubkey)
  if (!other) throw new OpenRefused('node-failed', 'there is nobody else')
  return other.pubkey
}

const bigintAsText = (_: string, value: unknown): unknown => (typeof value === 'bigint' ? `${value}` : value)

function readTransaction(text: string): Transaction {
  // Written by prepareFunding alone, with the amounts as text.
  const { inputs, outputs } = JSON.parse(text) as {
    inputs: Transaction['inputs']
    outputs: { valueSat: string; script: string }[]
  }
  return { inputs, outputs: outputs.map(({ valueSat, script }) => ({ valueSat: BigInt(valueSat), script })) }
}
