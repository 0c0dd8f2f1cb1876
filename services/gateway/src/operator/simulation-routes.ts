import { type Request, Router } from 'express'
import { z } from 'zod'
import { answer, bodyOf, OperatorError } from './answers.ts'
import type { Simulation } from './simulation.ts'

const alias = z.string().min(1).max(64)
const pay = z.strictObject({ invoice: z.string().min(1).max(4096), from: alias.optional() })
const mine = z.strictObject({ blocks: z.int().min(1).max(2000) })
const reorg = z.strictObject({ depth: z.int().min(1).max(100) })
const behave = z.strictObject({ alias, how: z.string().max(32) })
const sign = z.strictObject({ alias, text: z.string().max(4096) })
const sats = z.string().regex(/^[1-9]\d{0,15}$/, 'a whole number of satoshis, as a string')
const invoice = z.strictObject({ alias, sats, expirySeconds: z.int().min(1).max(31_536_000).default(3600) })
const open = z.strictObject({ alias, pubkey: z.string().regex(/^0[23][0-9a-f]{64}$/), sats, private: z.boolean().default(false) })

const param = (request: Request, name: string): string => `${request.params[name] ?? ''}`

function found<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new OperatorError(404, `The simulated network knows no such ${what}.`)
  return value
}

/** The simulated network, for the command line, demonstrations and tests. */
export function simulationRoutes(simulation: Simulation, buyer: string): Router {
  const router = Router()
  router.get(
    '/nodes',
    answer(() => simulation.nodes()),
  )
  router.get(
    '/balances',
    answer(() => balances(simulation)),
  )
  router.post(
    '/pay',
    answer(({ body }) => {
      const { invoice: request, from } = bodyOf(pay, body)
      return simulation.pay(from ?? buyer, request)
    }),
  )
  router.get(
    '/payments/:hash',
    answer((request) => found(simulation.payment(param(request, 'hash')), 'payment')),
  )
  router.get(
    '/channels/:alias',
    answer((request) => simulation.channels(param(request, 'alias'))),
  )
  router.post(
    '/mine',
    answer(({ body }) => ({ height: simulation.mine(bodyOf(mine, body).blocks) })),
  )
  router.post(
    '/reorg',
    answer(({ body }) => ({ height: simulation.reorg(bodyOf(reorg, body).depth) })),
  )
  router.post(
    '/behave',
    answer(({ body }) => {
      const wanted = bodyOf(behave, body)
      simulation.behave(wanted.alias, wanted.how)
      return wanted
    }),
  )
  router.post(
    '/sign',
    answer(({ body }) => {
      const wanted = bodyOf(sign, body)
      return simulation.sign(wanted.alias, wanted.text)
    }),
  )
  router.post(
    '/invoice',
    answer(({ body }) => {
      const wanted = bodyOf(invoice, body)
      return simulation.invoice(wanted.alias, BigInt(wanted.sats), wanted.expirySeconds)
    }),
  )
  router.get(
    '/invoices/:alias/:hash',
    answer((request) => found(simulation.invoiceStatus(param(request, 'alias'), param(request, 'hash')), 'invoice')),
  )
  router.post(
    '/open',
    answer(({ body }) => {
      const wanted = bodyOf(open, body)
      return simulation.open(wanted.alias, wanted.pubkey, BigInt(wanted.sats), wanted.private)
    }),
  )
  return router
}

function balances(simulation: Simulation) {
  const { nodes, inFlightMsat, feesMsat, totalMsat } = simulation.balances()
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
