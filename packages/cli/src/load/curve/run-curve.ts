import { randomInt } from 'node:crypto'
import { Failure } from '../../failure.ts'
import { describeStartErrors, type LoadAccess, runShownLoad } from '../load-access.ts'
import { type LoadClock, processClock } from '../load-clock.ts'
import { openHttpClient } from '../market/http-client.ts'
import { openHttpTransport } from '../market/http-transport.ts'
import { type LoadMarket, openLoadMarket } from '../market/load-market.ts'
import { RequestError } from '../market/request-error.ts'
import { type BuyerNode, findLoadTargets, listSimulatedNodes } from '../market/targets.ts'
import { placeBuyOrder } from '../orders/order-requests.ts'
import type { LoadSettings } from '../settings.ts'
import type { CurveReport } from './curve-format.ts'
import { toCurveLoad } from './curve-load.ts'
import { atRate } from './curve-settings.ts'
import { measureCurve } from './measure-curve.ts'
import { measureRecovery } from './recovery.ts'

type CurveRunOptions = {
  readonly access: LoadAccess
  readonly settings: LoadSettings
  readonly interrupt: AbortSignal
  readonly err: (text: string) => void
  readonly clock?: LoadClock
  readonly openTransport?: typeof openHttpTransport
}

const NO_PAYMENTS = 'A curve needs the operator token of a market with a simulated network, because its buyers pay.'

/** Measures a curve of a market. @throws Failure if it cannot start */
export async function runCurve(options: CurveRunOptions): Promise<CurveReport> {
  const { access, settings, interrupt, err, clock = processClock, openTransport = openHttpTransport } = options
  const startedAt = new Date().toISOString()
  const client = openHttpClient(access.marketAddress, {
    timeoutMs: settings.timeoutMs,
    signal: interrupt,
    clock,
    openTransport,
  })
  const market = openLoadMarket({ loadClient: client, controlClient: client, token: access.token })
  try {
    if (!market.operator || (await listSimulatedNodes(market.operator)) === null) throw new Failure(NO_PAYMENTS)
    const { buyers } = await describeStartErrors(findLoadTargets(market, [], interrupt))
    const curve = await measureCurve(settings.ratePerSecond, {
      async loadAt(ratePerSecond, title, onArrivalsEnd) {
        err(`${title}: ${ratePerSecond} per second\n`)
        const load = { settings: atRate(settings, ratePerSecond), interrupt, clock, openTransport }
        return toCurveLoad(await runShownLoad(access, { err }, { ...load, ...(onArrivalsEnd && { onArrivalsEnd }) }))
      },
      measureRecovery: (normalP50Ms) =>
        measureRecovery({
          normalP50Ms,
          buy: () => placeUnpaidOrder(market, buyers),
          maxWaitMs: settings.drainMs,
          clock,
          signal: interrupt,
        }),
    })
    return { ...curve, url: access.marketAddress.url.origin, startedAt, settings }
  } finally {
    client.close()
  }
}

/** @returns whether the market gave an invoice */
async function placeUnpaidOrder(market: LoadMarket, buyers: readonly BuyerNode[]): Promise<boolean> {
  const buyer = buyers[randomInt(buyers.length)]
  if (!buyer) return false
  try {
    await placeBuyOrder(market, buyer, { kind: 'abandon', isPrivate: false })
    return true
  } catch (error) {
    if (error instanceof RequestError) return false
    throw error
  }
}
