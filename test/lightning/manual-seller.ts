import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { systemClock } from '@penstock/adapters/system/clock.ts'
import { systemIds } from '@penstock/adapters/system/ids.ts'
import { type ChannelAttestation, formatChannelAttestation } from '@penstock/bitcoin/attestation.ts'
import { readTransaction } from '@penstock/bitcoin/raw-encoding.ts'
import { Fault } from '@penstock/kernel/result.ts'
import { openLogger } from '@penstock/runtime/observability/log.ts'
import { attestFunds } from '@penstock/seller-agent/attest-funds.ts'
import { openJournal } from '@penstock/seller-agent/journal.ts'
import { type ListedSale, type MarketClient, openMarketClient } from '@penstock/seller-agent/market-client.ts'
import { ensureRegistered } from '@penstock/seller-agent/register.ts'
import { type SellerTerms, defaultTimings } from '@penstock/seller-agent/terms.ts'
import type { Lightning } from '@penstock/ports/lightning.ts'
import type { LndNode } from '@penstock/servers/lightning-lnd.ts'
import { ANYONE_CAN_SPEND } from '@penstock/servers/lightning-btcd.ts'
import { connectPeers, findFreeCoin, buildAnyoneSpend } from '@penstock/servers/lightning-channels.ts'
import { waitForResult } from '@penstock/servers/lightning-daemon.ts'
import { openChannel } from 'lightning'
import { makeTempFolder } from '../support/product.ts'
import type { LightningPurchase, LightningEnvironment } from './environment.ts'

const TRANSACTION_FEE_SAT = 2000

export const MANUAL_SELLER_TERMS: SellerTerms = {
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

/** The channel that a seller opens. It may differ from the sold channel. */
export type ChannelOpening = {
  readonly peer: LndNode
  readonly sat: number
  readonly isPrivate?: boolean
  readonly isTaproot?: boolean
  readonly pushSat?: number
  /** The coin that pays for it, as `txid:vout`. */
  readonly coin?: string
}

/** A seller that opens, signs and submits only when the test calls it. */
export type ManualLightningSeller = {
  readonly market: MarketClient
  readonly node: LndNode
  /** The bearer key for requests that `market` does not make. */
  readonly apiKey: string
  /** Waits until the market asks the seller to open the channel. */
  readonly waitForSale: (purchase: LightningPurchase) => Promise<ListedSale>
  /** Opens a channel. @returns its outpoint once its funding is in the mempool */
  readonly open: (opening: ChannelOpening) => Promise<string>
  readonly attest: (outpoint: string, sale: ListedSale, changes?: Partial<ChannelAttestation>) => Promise<ChannelAttestation>
  readonly submitOutpoint: (outpoint: string, sale: ListedSale, changes?: Partial<ChannelAttestation>) => Promise<void>
  /** Submits the seller's payout invoice. @returns its payment hash */
  readonly submitInvoice: (sale: ListedSale) => Promise<string>
  readonly stop: () => Promise<void>
}

const MAX_SUBMISSIONS = 10

/** Submits an attestation, and retries if a busy market does not answer in time: repetition is harmless. @throws MarketRefusal */
async function submitWithRetries(market: MarketClient, orderId: string, attestation: ChannelAttestation): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      await market.submitOutpoint(orderId, attestation)
      return
    } catch (error) {
      if (!(error instanceof Fault) || tries === MAX_SUBMISSIONS) throw error
    }
  }
}

export async function createManualLightningSeller(
  environment: LightningEnvironment,
  alias: string,
  isRails: boolean,
  terms = MANUAL_SELLER_TERMS,
): Promise<ManualLightningSeller> {
  const lightning = environment.lightning(alias)
  const { servers } = environment
  const stopping = new AbortController()
  const { signal } = stopping
  const [clock, log, url] = [systemClock, openLogger('error'), environment.product.url]
  const journal = openJournal(join(makeTempFolder(), `${alias}.db`))
  const node = servers.node(alias)
  if (isRails) await environment.product.operator('POST', '/sellers/grant', { pubkey: node.pubkey, reason: 'A test.' })
  const registered = await ensureRegistered({ url, lightning, journal, terms, clock, ids: systemIds(), log, signal })
  const market = openMarketClient({ url, bearer: registered.apiKey, signal })
  const attestation = { lightning, market, clock, log: openLogger('silent'), pubkey: node.pubkey }
  const attesting = attestFunds(attestation, defaultTimings, signal)
  const attest: ManualLightningSeller['attest'] = (outpoint, sale, changes) =>
    attestChannel({ lightning, pubkey: node.pubkey }, outpoint, sale, changes)
  return {
    market,
    node,
    apiKey: registered.apiKey,
    attest,
    waitForSale: (purchase) =>
      waitForResult('the order waits for the channel', async () =>
        (await market.listPendingSales()).find(
          ({ orderId, status }) => orderId === purchase.id && status === 'WAITING_FOR_CHANNEL_OPEN',
        ),
      ),
    open: (opening) => openChannelFrom(node, environment, opening),
    async submitOutpoint(outpoint, sale, changes) {
      await submitWithRetries(market, sale.orderId, await attest(outpoint, sale, changes))
    },
    async submitInvoice({ orderId, sellerSat }) {
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

async function attestChannel(
  { lightning, pubkey }: { readonly lightning: Lightning; readonly pubkey: string },
  outpoint: string,
  { sizeSat, peer }: ListedSale,
  changes: Partial<ChannelAttestation> = {},
): Promise<ChannelAttestation> {
  const attestation = {
    outpoint,
    capacitySat: BigInt(sizeSat),
    nodeKeys: [pubkey, peer] as const,
    channelType: 'anchors',
    pushSat: 0n,
    reserveSat: BigInt(sizeSat) / 100n,
    ...changes,
  }
  return { ...attestation, signature: await lightning.messages.sign(formatChannelAttestation(attestation)) }
}

/** Opens a channel directly at the node. @returns its outpoint once its funding is in the mempool */
export async function openChannelFrom(
  node: LndNode,
  { servers }: Pick<LightningEnvironment, 'servers'>,
  opening: ChannelOpening,
): Promise<string> {
  const { peer, sat, isPrivate = false, isTaproot = false, pushSat = 0, coin } = opening
  const [transaction_id_of_coin = '', vout] = coin?.split(':') ?? []
  await connectPeers(node, peer)
  const { transaction_id, transaction_vout } = await openChannel({
    lnd: node.lnd,
    partner_public_key: peer.pubkey,
    local_tokens: sat,
    chain_fee_tokens_per_vbyte: 2,
    is_private: isPrivate,
    give_tokens: pushSat,
    ...(coin !== undefined && { inputs: [{ transaction_id: transaction_id_of_coin, transaction_vout: Number(vout) }] }),
    // The package `lightning` sets a channel type only if the caller requests a type other than lnd's default.
    ...(isTaproot && { is_simplified_taproot: true }),
  })
  await waitForResult('the funding is in the mempool', async () =>
    (await servers.chain.rpc<string[]>('getrawmempool')).includes(transaction_id),
  )
  return `${transaction_id}:${transaction_vout}`
}

type NonChannelTransaction = {
  /** The unpublished transaction in hex. */
  readonly rawTransaction: string
  /** The outpoint that pays to a key. */
  readonly keyOutpoint: string
  /** The outpoint that looks like a channel's funding, because it pays to a script. */
  readonly scriptOutpoint: string
}

/** Builds a transaction with two outputs of `sat` each, none of which is a channel. */
export async function createNonChannelTransaction(
  { servers: { chain } }: Pick<LightningEnvironment, 'servers'>,
  sat: number,
): Promise<NonChannelTransaction> {
  const coin = await findFreeCoin(chain)
  const outputs = [`0014${randomBytes(20).toString('hex')}`, ANYONE_CAN_SPEND.script].map((script) => ({ script, sat }))
  const change = { script: ANYONE_CAN_SPEND.script, sat: coin.sat - 2 * sat - TRANSACTION_FEE_SAT }
  const rawTransaction = buildAnyoneSpend(coin, [...outputs, change])
  const { txid } = readTransaction(rawTransaction)
  return { rawTransaction, keyOutpoint: `${txid}:0`, scriptOutpoint: `${txid}:1` }
}
