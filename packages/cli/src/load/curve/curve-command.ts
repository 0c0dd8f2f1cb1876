import { randomInt } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { Failure } from '../../failure.ts'
import { printResult } from '../../command-context.ts'
import {
  describeStartErrors,
  type LoadAccess,
  type LoadCommandOptions,
  type LoadContext,
  openLoadAccess,
  runInterruptible,
  runShownLoad,
} from '../load-access.ts'
import { processClock } from '../load-clock.ts'
import { openHttpClient } from '../market/http-client.ts'
import { openLoadMarket } from '../market/load-market.ts'
import { RequestError } from '../market/request-error.ts'
import { type BuyerNode, findLoadTargets } from '../market/targets.ts'
import { placeBuyOrder } from '../orders/order-requests.ts'
import type { LoadSettings } from '../settings.ts'
import { curveToJson, type CurveReport, formatCurve, listCurveFailures } from './curve-format.ts'
import { renderCurveReport } from './curve-report.ts'
import { toCurveLoad } from './curve-load.ts'
import { atRate } from './curve-settings.ts'
import { measureCurve } from './measure-curve.ts'
import { measureRecovery } from './recovery.ts'

/** Runs `penstock load --curve`. @throws Failure if it cannot start, if a paid order was lost, or if a load fails */
export async function runCurveCommand(options: LoadCommandOptions, context: LoadContext): Promise<void> {
  const { settings, out: reportFile } = options
  const access = await openLoadAccess(options, context)
  const report = await runInterruptible(context.err, (interrupt) => runCurve(access, context, { settings, interrupt }))
  if (reportFile !== undefined) writeFileSync(reportFile, renderCurveReport(report))
  printResult(context, options, curveToJson(report), () => formatCurve(report))
  const failures = listCurveFailures(report)
  if (failures.length > 0) throw new Failure(failures.join('\n'))
}

type CurveRun = { readonly settings: LoadSettings; readonly interrupt: AbortSignal }

async function runCurve(access: LoadAccess, context: LoadContext, { settings, interrupt }: CurveRun): Promise<CurveReport> {
  const startedAt = new Date().toISOString()
  const client = openHttpClient(access.marketAddress, { timeoutMs: settings.timeoutMs, signal: interrupt })
  const market = openLoadMarket({ loadClient: client, controlClient: client, token: access.token })
  try {
    const { buyers, simulation } = await describeStartErrors(findLoadTargets(market, [], interrupt))
    if (!simulation) throw new Failure('A curve needs a simulated network, because its buyers pay.')
    const buy = async (): Promise<boolean> => {
      const buyer: BuyerNode | undefined = buyers[randomInt(buyers.length)]
      if (!buyer) return false
      try {
        await placeBuyOrder(market, buyer, { kind: 'abandon', isPrivate: false })
        return true
      } catch (error) {
        if (error instanceof RequestError) return false
        throw error
      }
    }
    const curve = await measureCurve(settings.ratePerSecond, {
      async loadAt(ratePerSecond, title, onArrivalsEnd) {
        context.err(`${title}: ${ratePerSecond} orders per second\n`)
        const load = { settings: atRate(settings, ratePerSecond), interrupt, ...(onArrivalsEnd && { onArrivalsEnd }) }
        return toCurveLoad(await runShownLoad(access, context, load))
      },
      measureRecovery: (normalP50Ms) =>
        measureRecovery({ normalP50Ms, buy, maxWaitMs: settings.drainMs, clock: processClock, signal: interrupt }),
    })
    return { ...curve, url: access.marketAddress.url.origin, startedAt, settings }
  } finally {
    client.close()
  }
}
