import { parseAmount } from '@penstock/kernel/money.ts'
import { Router } from 'express'
import { z } from 'zod'
import { answer, bodyOf, OperatorError } from './answers.ts'
import type { Simulation } from './simulation.ts'

const alias = z.string().min(1).max(64)
const pay = z.strictObject({ invoice: z.string().min(1).max(4096), from: alias.optional() })
const mine = z.strictObject({ blocks: z.int().min(1).max(2000) })
const reorg = z.strictObject({ depth: z.int().min(1).max(100) })
const behave = z.strictObject({ alias, how: z.string().max(32) })
const sign = z.strictObject({ alias, text: z.string().max(4096) })
// No more than there will ever be; the network counts in millisatoshis, of which more would not fit.
const sats = z
  .string()
  .regex(/^[1-9]\d{0,15}$/, 'a whole number of satoshis, as a string')
  .refine((text) => parseAmount(text) !== undefined, 'more than all bitcoin')
const invoice = z.strictObject({ alias, sats, expirySeconds: z.int().min(1).max(31_536_000).default(3600) })
const open = z.strictObject({
  alias,
  pubkey: z.string().regex(/^0[23][0-9a-f]{64}$/),
  sats,
  private: z.boolean().default(false),
  taproot: z.boolean().default(false),
})
const close = z.strictObject({ outpoint: z.string().regex(/^[0-9a-f]{64}:\d{1,5}$/, 'an outpoint') })

function found<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new OperatorError(404, `The simulated network knows no such ${what}.`)
  return value
}

/** The simulated network, for the command line, demonstrations and tests. */
export function simulationRoutes(simulation: Simulation): Router {
  const router = Router()
  lookRoutes(router, simulation)
  const act = <Schema extends z.ZodType>(path: string, schema: Schema, carryOut: (wanted: z.output<Schema>) => unknown) =>
    router.post(
      path,
      answer(({ body }) => carryOut(bodyOf(schema, body))),
    )
  act('/pay', pay, async ({ invoice: request, from }) => simulation.pay(from ?? (await buyerOf(simulation)), request))
  act('/mine', mine, async ({ blocks }) => ({ height: await simulation.mine(blocks) }))
  act('/reorg', reorg, async ({ depth }) => ({ height: await simulation.reorg(depth) }))
  act('/behave', behave, async (wanted) => {
    await simulation.behave(wanted.alias, wanted.how)
    return wanted
  })
  act('/sign', sign, ({ alias: name, text }) => simulation.sign(name, text))
  act('/invoice', invoice, (wanted) => simulation.invoice(wanted.alias, BigInt(wanted.sats), wanted.expirySeconds))
  act('/open', open, ({ alias: name, pubkey, ...wanted }) =>
    simulation.open(name, pubkey, BigInt(wanted.sats), { isPrivate: wanted.private, isTaproot: wanted.taproot }),
  )
  act('/close', close, ({ outpoint }) => simulation.close(outpoint))
  return router
}

function lookRoutes(router: Router, simulation: Simulation): void {
  const look = (path: string, see: (param: (name: string) => string) => unknown) =>
    router.get(
      path,
      answer(({ params }) => see((name) => String(params[name]))),
    )
  look('/nodes', () => simulation.nodes())
  look('/balances', () => balances(simulation))
  look('/payments/:hash', async (param) => found(await simulation.payment(param('hash')), 'payment'))
  look('/channels/:alias', (param) => simulation.channels(param('alias')))
  look('/invoices/:alias/:hash', async (param) => found(await simulation.invoiceStatus(param('alias'), param('hash')), 'invoice'))
}

/** Who pays where nobody is named. */
const buyerOf = async (simulation: Simulation): Promise<string> =>
  (await simulation.nodes()).find(({ role }) => role === 'buyer')?.alias ?? 'buyer'

async function balances(simulation: Simulation) {
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
