import { parseAmount } from '@penstock/kernel/money.ts'
import { Router } from 'express'
import { z } from 'zod'
import { respondWithJson, parseOperatorBody, OperatorError } from './http.ts'
import type { SimulatedNetworkControl } from './simulation.ts'

const alias = z.string().min(1).max(64)
const payBody = z.strictObject({ invoice: z.string().min(1).max(4096), from: alias.optional() })
const mineBody = z.strictObject({ blocks: z.int().min(1).max(2000) })
const reorgBody = z.strictObject({ depth: z.int().min(1).max(100) })
const behaveBody = z.strictObject({ alias, how: z.string().max(32) })
const signBody = z.strictObject({ alias, text: z.string().max(4096) })
// At most the total supply of bitcoin. Larger amounts would not fit the network's counters of millisatoshis.
const sats = z
  .string()
  .regex(/^[1-9]\d{0,15}$/, 'a whole number of satoshis, as a string')
  .refine((text) => parseAmount(text) !== undefined, 'more than all bitcoin')
const invoiceBody = z.strictObject({ alias, sats, expirySeconds: z.int().min(1).max(31_536_000).default(3600) })
const openBody = z.strictObject({
  alias,
  pubkey: z.string().regex(/^0[23][0-9a-f]{64}$/),
  sats,
  private: z.boolean().default(false),
  taproot: z.boolean().default(false),
})
const closeBody = z.strictObject({ outpoint: z.string().regex(/^[0-9a-f]{64}:\d{1,5}$/, 'an outpoint') })

function requireFound<T>(value: T | undefined, kind: string): T {
  if (value === undefined) throw new OperatorError(404, `The simulated network knows no such ${kind}.`)
  return value
}

/** Creates the routes that control the simulated network, for the command line, demonstrations and tests. */
export function createSimulationRouter(simulation: SimulatedNetworkControl): Router {
  const router = Router()
  addReadRoutes(router, simulation)
  const addActionRoute = <Schema extends z.ZodType>(
    path: string,
    schema: Schema,
    perform: (input: z.output<Schema>) => unknown,
  ) =>
    router.post(
      path,
      respondWithJson(({ body }) => perform(parseOperatorBody(schema, body))),
    )
  addActionRoute('/pay', payBody, async ({ invoice: request, from }) =>
    simulation.pay(from ?? (await findBuyerAlias(simulation)), request),
  )
  addActionRoute('/mine', mineBody, async ({ blocks }) => ({ height: await simulation.mine(blocks) }))
  addActionRoute('/reorg', reorgBody, async ({ depth }) => ({ height: await simulation.reorg(depth) }))
  addActionRoute('/behave', behaveBody, async (input) => {
    await simulation.behave(input.alias, input.how)
    return input
  })
  addActionRoute('/sign', signBody, ({ alias: name, text }) => simulation.sign(name, text))
  addActionRoute('/invoice', invoiceBody, (input) => simulation.invoice(input.alias, BigInt(input.sats), input.expirySeconds))
  addActionRoute('/open', openBody, ({ alias: name, pubkey, ...input }) =>
    simulation.open(name, pubkey, BigInt(input.sats), { isPrivate: input.private, isTaproot: input.taproot }),
  )
  addActionRoute('/close', closeBody, ({ outpoint }) => simulation.close(outpoint))
  return router
}

function addReadRoutes(router: Router, simulation: SimulatedNetworkControl): void {
  const addReadRoute = (path: string, read: (param: (name: string) => string) => unknown) =>
    router.get(
      path,
      respondWithJson(({ params }) => read((name) => String(params[name]))),
    )
  addReadRoute('/nodes', () => simulation.nodes())
  addReadRoute('/balances', () => readBalances(simulation))
  addReadRoute('/payments/:hash', async (param) => requireFound(await simulation.payment(param('hash')), 'payment'))
  addReadRoute('/channels/:alias', (param) => simulation.channels(param('alias')))
  addReadRoute('/invoices/:alias/:hash', async (param) =>
    requireFound(await simulation.invoiceStatus(param('alias'), param('hash')), 'invoice'),
  )
}

/** Finds the default payer: the first node whose role is buyer. */
const findBuyerAlias = async (simulation: SimulatedNetworkControl): Promise<string> =>
  (await simulation.nodes()).find(({ role }) => role === 'buyer')?.alias ?? 'buyer'

async function readBalances(simulation: SimulatedNetworkControl) {
  const { nodes, inFlightMsat, feesMsat, totalMsat } = await simulation.balances()
  return {
    nodes: nodes.map(({ alias, onChainMsat, channelMsat }) => ({
      alias,
      on_chain_msat: `${onChainMsat}`,
      channel_msat: `${channelMsat}`,
    })),
    in_flight_msat: `${inFlightMsat}`,
    fees_msat: `${feesMsat}`,
    total_msat: `${totalMsat}`,
  }
}
