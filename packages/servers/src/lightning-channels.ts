import { addPeer, createChainAddress, getChannel, getChannels, getUtxos, openChannel } from 'lightning'
import { ANYONE_CAN_SPEND, type Btcd } from './lightning-btcd.ts'
import type { LndNode } from './lightning-lnd.ts'
import { waitForResult } from './lightning-daemon.ts'
import type { LightningServers } from './lightning.ts'

const FEE_SAT = 1000
/** Confirmations after which a public channel is announced. */
const ANNOUNCEMENT_DEPTH = 6

/** Gives a node one or more confirmed coins of the same size. */
export async function fundNode(
  { chain, mine }: LightningServers,
  { alias, lnd }: LndNode,
  sat: number,
  coins = 1,
): Promise<void> {
  const { address } = await createChainAddress({ lnd, format: 'p2wpkh' })
  await payAddress(chain, address, sat, coins)
  await mine()
  await waitForResult(`${alias} sees its coins`, async () =>
    (await getUtxos({ lnd, min_confirmations: 1 })).utxos.some((utxo) => utxo.address === address),
  )
}

/** Puts a payment from a miner's coin into the mempool. @param address the address of a segwit v0 key or script */
async function payAddress(chain: Btcd, address: string, sat: number, coins: number): Promise<void> {
  const { witness_program: program } = await chain.rpc<{ witness_program: string }>('validateaddress', address)
  const script = `00${(program.length / 2).toString(16).padStart(2, '0')}${program}`
  const coin = await findFreeCoin(chain)
  const change = { script: ANYONE_CAN_SPEND.script, sat: coin.sat - coins * sat - coins * FEE_SAT }
  const paid = Array.from({ length: coins }, () => ({ script, sat }))
  await chain.rpc<string>('sendrawtransaction', buildAnyoneSpend(coin, [...paid, change]))
}

export type Coin = { readonly txid: string; readonly vout: number; readonly sat: number }

/** Finds a miner's coin that neither a block nor the mempool spends. */
export async function findFreeCoin(chain: Btcd): Promise<Coin> {
  const height = await chain.rpc<number>('getblockcount')
  for (let blockHeight = 1; blockHeight <= height - 100; blockHeight++) {
    const { tx } = await chain.rpc<{ tx: string[] }>('getblock', await chain.rpc('getblockhash', blockHeight), 1)
    const txid = tx[0] ?? ''
    const output = await chain.rpc<{ value: number } | null>('gettxout', txid, 0, true)
    const [spending] = await chain.rpc<{ spendingtxid?: string }[]>('gettxspendingprevout', [{ txid, vout: 0 }])
    if (output && !spending?.spendingtxid) return { txid, vout: 0, sat: Math.round(output.value * 1e8) }
  }
  throw new Error('every coin of the miners is spent')
}

/** Builds the replaceable spend of an output that anyone may spend, because btcd cannot build segwit transactions. */
export const buildAnyoneSpend = (coin: Coin, outputs: readonly { readonly script: string; readonly sat: number }[]): string =>
  [
    '02000000',
    '0001',
    `01${reverseHex(coin.txid)}${toLittleEndian(coin.vout, 4)}00fdffffff`,
    outputs.length.toString(16).padStart(2, '0'),
    ...outputs.map(({ script, sat }) => `${toLittleEndian(sat, 8)}${(script.length / 2).toString(16).padStart(2, '0')}${script}`),
    // The witness: one item, one byte long, OP_TRUE.
    '010151',
    '00000000',
  ].join('')

export async function connectPeers(from: LndNode, to: LndNode): Promise<void> {
  await addPeer({ lnd: from.lnd, public_key: to.pubkey, socket: to.socket })
}

/** Opens an announced channel, and waits until both ends can pay through it. @returns its outpoint */
export async function openAnnouncedChannel(servers: LightningServers, from: LndNode, to: LndNode, sat: number): Promise<string> {
  await connectPeers(from, to)
  const opened = await openChannel({
    lnd: from.lnd,
    partner_public_key: to.pubkey,
    local_tokens: sat,
    chain_fee_tokens_per_vbyte: 2,
  })
  const outpoint = `${opened.transaction_id}:${opened.transaction_vout}`
  await waitForResult('its funding is in the mempool', async () =>
    (await servers.chain.rpc<string[]>('getrawmempool')).includes(opened.transaction_id),
  )
  await servers.mine(ANNOUNCEMENT_DEPTH)
  await Promise.all([waitUntilActive(from, outpoint), waitUntilActive(to, outpoint)])
  await Promise.all([waitUntilInGraph(from, outpoint), waitUntilInGraph(to, outpoint)])
  return outpoint
}

/** After a restart, wait for the restarted node first: the other node may still show the dead connection as active. */
export const waitUntilActive = ({ alias, lnd }: LndNode, outpoint: string): Promise<true> =>
  waitForResult(`${alias} can use the channel ${outpoint}`, async () =>
    (await getChannels({ lnd, is_active: true })).channels.some(
      (channel) => `${channel.transaction_id}:${channel.transaction_vout}` === outpoint,
    ),
  )

/** Active is not enough to pay: the payer's own graph must contain the channel, too, with the policies of both ends. */
export function waitUntilInGraph({ alias, lnd }: LndNode, outpoint: string): Promise<boolean> {
  const [transaction_id = '', vout] = outpoint.split(':')
  return waitForResult(`${alias} has the channel ${outpoint} in its graph`, async () => {
    const { policies } = await getChannel({ lnd, transaction_id, transaction_vout: Number(vout) })
    return policies.every(({ cltv_delta }) => cltv_delta !== undefined)
  })
}

/** An HTLC of a payment to the node that is not settled or cancelled yet, or whose end the peer does not know yet. */
export type PendingHtlc = { readonly paymentHash: string; readonly expiryHeight: number }

export async function listPendingHtlcs({ lnd }: LndNode): Promise<readonly PendingHtlc[]> {
  const { channels } = await getChannels({ lnd })
  return channels.flatMap(({ pending_payments }) =>
    pending_payments
      .filter(({ is_outgoing, is_forward }) => !is_outgoing && is_forward !== true)
      .map(({ id, timeout }) => ({ paymentHash: id, expiryHeight: timeout })),
  )
}

const reverseHex = (hex: string): string => Buffer.from(hex, 'hex').reverse().toString('hex')

function toLittleEndian(value: number, bytes: number): string {
  const buffer = Buffer.alloc(8)
  buffer.writeBigUInt64LE(BigInt(value))
  return buffer.subarray(0, bytes).toString('hex')
}
