import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { systemClock } from '@penstock/adapters/system/clock.ts'
import { systemIds } from '@penstock/adapters/system/ids.ts'
import { type Attestation, attestationText } from '@penstock/bitcoin/attestation.ts'
import { readTransaction } from '@penstock/bitcoin/raw.ts'
import { openLog } from '@penstock/runtime/log.ts'
import { attestFunds } from '@penstock/seller-agent/attest.ts'
import { openJournal } from '@penstock/seller-agent/journal.ts'
import { type ListedSale, type Market, openMarket } from '@penstock/seller-agent/market.ts'
import { ensureRegistered } from '@penstock/seller-agent/register.ts'
import { type SellerTerms, pace } from '@penstock/seller-agent/terms.ts'
import type { LndNode } from '@penstock/servers/lightning-lnd.ts'
import { ANYONE } from '@penstock/servers/lightning-btcd.ts'
import { connect, freeCoin, spendAnyone } from '@penstock/servers/lightning-channels.ts'
import { until } from '@penstock/servers/lightning-process.ts'
import { openChannel } from 'lightning'
import { scratch } from '../harness/product.ts'
import type { Deal, Exchange } from './exchange.ts'

const FEE_SAT = 2000

export const TERMS: SellerTerms = {
  totalSizeSat: 200_000_000n,
  minSizeSat: 100_000n,
  maxSizeSat: 16_000_000n,
  minBlockLength: 52_560,
  baseFeeSat: 200n,
  feeRatePpm: 2000,
  baseFeeCapSat: 1n,
  feeRateCapPpm: 500,
  autoAccept: true,
}

/** What is opened instead of what was sold. */
export type Opened = {
  readonly peer: LndNode
  readonly sat: number
  readonly isPrivate?: boolean
  readonly isTaproot?: boolean
  readonly pushSat?: number
  /** The coin that pays for it, as `txid:vout`. */
  readonly coin?: string
}

/** A seller whose every step a test takes by hand: its node opens what it is told to, and signs what it is told to. */
export type HandSeller = {
  readonly market: Market
  readonly node: LndNode
  /** For what the market's other clients ask. */
  readonly apiKey: string
  /** Waits until the market wants the channel. */
  readonly sale: (deal: Deal) => Promise<ListedSale>
  /** @returns its outpoint, when its funding is in the mempool */
  readonly open: (opened: Opened) => Promise<string>
  readonly attest: (outpoint: string, sale: ListedSale, changed?: Partial<Attestation>) => Promise<Attestation>
  readonly name: (outpoint: string, sale: ListedSale, changed?: Partial<Attestation>) => Promise<void>
  /** Gives the invoice that the seller wants to be paid by. @returns its payment hash */
  readonly bill: (sale: ListedSale) => Promise<string>
  readonly stop: () => Promise<void>
}

export async function handSeller(at: Exchange, alias: string, isRails: boolean, terms = TERMS): Promise<HandSeller> {
  const lightning = at.lightning(alias)
  const { servers } = at
  const stopping = new AbortController()
  const { signal } = stopping
  const [clock, log, url] = [systemClock, openLog('error'), at.product.url]
  const journal = openJournal(join(scratch(), `${alias}.db`))
  const node = servers.node(alias)
  if (isRails) await at.product.operator('POST', '/sellers/grant', { pubkey: node.pubkey, reason: 'A test.' })
  const registered = await ensureRegistered({ url, lightning, journal, terms, clock, ids: systemIds(), log, signal })
  const market = openMarket({ url, bearer: registered.apiKey, signal })
  const attesting = attestFunds({ lightning, market, clock, log: openLog('silent'), pubkey: node.pubkey }, pace, signal)

  async function attest(outpoint: string, sale: ListedSale, changed: Partial<Attestation> = {}): Promise<Attestation> {
    const said = {
      outpoint,
      capacitySat: BigInt(sale.sizeSat),
      nodeKeys: [node.pubkey, sale.peer] as const,
      channelType: 'anchors',
      pushSat: 0n,
      reserveSat: BigInt(sale.sizeSat) / 100n,
      ...changed,
    }
    return { ...said, signature: await lightning.messages.sign(attestationText(said)) }
  }
  return {
    market,
    node,
    apiKey: registered.apiKey,
    attest,
    sale: (deal) =>
      until('the market wants the channel', async () =>
        (await market.salesToDo()).find(({ orderId, status }) => orderId === deal.id && status === 'WAITING_FOR_CHANNEL_OPEN'),
      ),
    open: (opened) => openBy(node, at, opened),
    async name(outpoint, sale, changed) {
      await market.nameFunding(sale.orderId, await attest(outpoint, sale, changed))
    },
    async bill({ orderId, sellerSat }) {
      const amountMsat = BigInt(sellerSat) * 1000n
      const { request, paymentHash } = await lightning.payments.createInvoice({
        amountMsat,
        expirySeconds: 72 * 3600,
        description: 'a payout',
      })
      await market.accept(orderId, request)
      return paymentHash
    },
    async stop() {
      stopping.abort()
      await attesting
      journal.close()
    },
  }
}

/** Opens a channel as a person at the node would. @returns its outpoint, when its funding is in the mempool */
export async function openBy(node: LndNode, { servers }: Pick<Exchange, 'servers'>, opened: Opened): Promise<string> {
  const { peer, sat, isPrivate = false, isTaproot = false, pushSat = 0, coin } = opened
  const [transaction_id_of_coin = '', vout] = coin?.split(':') ?? []
  await connect(node, peer)
  const { transaction_id, transaction_vout } = await openChannel({
    lnd: node.lnd,
    partner_public_key: peer.pubkey,
    local_tokens: sat,
    chain_fee_tokens_per_vbyte: 2,
    is_private: isPrivate,
    give_tokens: pushSat,
    ...(coin !== undefined && { inputs: [{ transaction_id: transaction_id_of_coin, transaction_vout: Number(vout) }] }),
    // The package sets the type of the channel only where it is asked for another than lnd's own.
    ...(isTaproot && { is_simplified_taproot: true }),
  })
  await until('its funding is in the mempool', async () =>
    (await servers.chain.rpc<string[]>('getrawmempool')).includes(transaction_id),
  )
  return `${transaction_id}:${transaction_vout}`
}

type NoChannel = {
  /** In hex; nobody has seen it. */
  readonly raw: string
  /** The outpoint that pays to a key. */
  readonly ofKey: string
  /** The outpoint that looks like a channel's funding: it pays to somebody's script. */
  readonly ofScript: string
}

/** A transaction with outputs of so much, none of which is a channel. */
export async function noChannel({ servers: { chain } }: Pick<Exchange, 'servers'>, sat: number): Promise<NoChannel> {
  const coin = await freeCoin(chain)
  const outputs = [`0014${randomBytes(20).toString('hex')}`, ANYONE.script].map((script) => ({ script, sat }))
  const change = { script: ANYONE.script, sat: coin.sat - 2 * sat - FEE_SAT }
  const raw = spendAnyone(coin, [...outputs, change])
  const { txid } = readTransaction(raw)
  return { raw, ofKey: `${txid}:0`, ofScript: `${txid}:1` }
}
