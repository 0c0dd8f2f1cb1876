import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pay } from '@penstock/cluster/regtest/pay.ts'
import { until } from '@penstock/servers/lightning-process.ts'
import { buy } from '../../harness/buyer.ts'
import { parseMetrics } from '../../observability/metrics.ts'
import type { World } from './look.ts'

/** Blocks before the end of a payment at which the guard gives it back; lnd by itself waits 12 more. */
const GUARD_BLOCKS = 24

/** `off`: the height at which the payment went back, less its last height; -1 where it was gone before that. */
export type WentBack = { readonly off: number; readonly faults: readonly string[] }

/**
 * A buyer pays, every seller is away, and blocks come until the payment has to go back: lnd shows it held in the block
 * before its last height, and given back at it.
 */
export async function toLastHeight(world: World): Promise<WentBack> {
  const { regtest, miner } = world
  const { network, agents } = regtest
  const [market] = network.having('market')
  const [buyer] = network.having('buyer')
  if (!market || !buyer) throw new Error('the network has no market or no buyer')
  const sellers = network.having('seller').map(({ alias }) => alias)
  const height = (): Promise<number> => network.servers.chain.rpc('getblockcount')

  const { id, invoice } = await buy(regtest, { connection_uri: `${buyer.info.pubkey}@${buyer.node.socket}` })
  for (const alias of sellers) await agents.stop(alias)
  const { payment_hash: hash } = await pay(network, buyer, invoice)
  // An order that asks nobody any more ends with its attempt, which is sooner.
  await until('a seller is asked', async () =>
    JSON.stringify(await regtest.operator('GET', `/orders/${id}`)).includes('"OpeningAsked"'),
  )
  const hold = () => market.lightning.holds.find(hash)
  const held = (await hold())?.htlcs.map(({ expiryHeight }) => expiryHeight) ?? []
  const lastHeight = Math.min(...held) - GUARD_BLOCKS
  const off = await miner.alone(async ({ mine }) => {
    await mine(lastHeight - 1 - (await height()))
    await until(`the market is at ${lastHeight - 1}`, async () => (await marketHeight(world)) === lastHeight - 1)
    if ((await hold())?.state !== 'held') return -1
    await mine()
    await until('it is given back', async () => (await hold())?.state === 'cancelled')
    return (await height()) - lastHeight
  })
  const state = await until('the payer knows', async () => {
    const payment = await buyer.lightning.payments.find(hash)
    return payment?.state !== 'in-flight' && (payment?.state ?? 'unknown')
  })
  const { payment_status: told } = await until('the order is over', async () => {
    const report = await regtest.operator<{ status: string; payment_status: string | null }>('GET', `/orders/${id}`)
    return report.status === 'SELLER_FAILED_TO_OPEN_CHANNEL' && report
  })
  for (const alias of sellers) agents.start(alias)
  return {
    off,
    faults: [
      // Where its window ended first, as on a very busy machine, there was no last height.
      ...(off === 0 || (off < 0 && told !== 'HODL_INVOICE_TIMEOUT')
        ? []
        : [`order ${id} was given back ${off < 0 ? 'before' : 'after'} its last height ${lastHeight}`]),
      ...(state === 'failed' ? [] : [`order ${id} was given back, and its payment is ${state} at the payer`]),
      ...(off !== 0 || told === 'HODL_INVOICE_TIMEOUT'
        ? []
        : [`order ${id} was given back at its last height, and tells ${told}`]),
    ],
  }
}

/** Of the chain that the market follows, as it stood some seconds ago at the most. */
async function marketHeight({ regtest: { url, dataDir } }: World): Promise<number> {
  const token = readFileSync(join(dataDir, 'operator.token'), 'utf8').trim()
  const page = await fetch(`${url}/operator/metrics`, { headers: { authorization: `Bearer ${token}` } })
  return parseMetrics(await page.text()).max({ name: 'penstock_chain_tip_height' })
}
