import { createServer, type IncomingMessage } from 'node:http'
import { openAuditSummary, openLogHeads, readLogHeads } from '@penstock/audit/head-files.ts'
import { findServerFaults } from '@penstock/platforms/cluster.ts'
import { type ServiceProcessContext, runProcess } from '@penstock/platforms/process.ts'
import { verifyLog, type AuditReport } from '@penstock/audit/verify.ts'
import { createAuditService, withStoredSummary } from '@penstock/audit/daily.ts'
import { exportVerified } from '@penstock/audit/compare-export.ts'
import { createHeadWriter } from '@penstock/audit/head-writer.ts'
import { replayOrder } from '@penstock/audit/replay.ts'
import { bind, type BoundService } from '@penstock/runtime/run.ts'
import { defineService } from '@penstock/runtime/service.ts'
import { createStreamServices } from '@penstock/standalone/registry.ts'
import { z } from 'zod'

const KEEP_ALIVE_MS = 15_000
const verifyBody = z.strictObject({ note: z.string().max(128).optional() })
const orderBody = z.strictObject({ orderId: z.string().max(64) })
type Verify = (note?: string) => Promise<AuditReport>
type AuditHandlers = Readonly<Record<string, (body: unknown) => Promise<unknown>>>

/** Answers operators' requests for audits, which the gateway forwards by HTTP to the port of this process. */
const serveAudits = ({ platform, config, dir }: ServiceProcessContext, verify: Verify): BoundService => {
  const { store, clock } = platform
  const heads = async () => readLogHeads(dir.market)
  const handlers: AuditHandlers = {
    '/verify': async (body) => verify(verifyBody.parse(body).note),
    '/replay': async (body) => replayOrder(store, createStreamServices(), orderBody.parse(body).orderId),
    '/export': async (body) =>
      exportVerified(store, createStreamServices(), orderBody.parse(body).orderId, clock.now(), await heads()),
  }
  const run = async (_: object, signal: AbortSignal): Promise<void> => {
    const server = createServer((request, response) => {
      // An audit may take hours, so spaces, which JSON allows, keep the connection alive.
      const keepAlive = setInterval(() => response.write(' '), KEEP_ALIVE_MS)
      void answerRequest(handlers, request).then((answer) => response.end(JSON.stringify(answer)))
      response.once('close', () => clearInterval(keepAlive))
    })
    await new Promise<void>((resolve, reject) => server.once('error', reject).listen(config.port, config.host, resolve))
    await new Promise<void>((stop) => (signal.aborted ? stop() : signal.addEventListener('abort', () => stop())))
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  return bind(defineService('audit-answers', { jobs: [{ name: 'audits', run, isReadOnly: true }] }), {})
}

async function answerRequest(handlers: AuditHandlers, request: IncomingMessage): Promise<object> {
  try {
    const answer = handlers[request.url ?? '']
    if (!answer) return { error: 'there is no such audit' }
    let text = ''
    for await (const chunk of request.setEncoding('utf8')) text += chunk as string // the encoding is set
    return { value: await answer(JSON.parse(text)) }
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) }
  }
}

/** The audit process writes log heads, and folds the store with the code of all services, daily and on request. */
await runProcess({ name: 'audit' }, async (context) => {
  const { platform, config, dir } = context
  const summaryStore = openAuditSummary(dir.path)
  const audits = async (note?: string): Promise<AuditReport> => {
    const heads = await readLogHeads(dir.market)
    const storeFaults = await findServerFaults(config)
    return verifyLog(platform.store, createStreamServices(), {
      ...(heads && { heads }),
      ...(note !== undefined && { note }),
      storeFaults,
    })
  }
  const verify = withStoredSummary(audits, summaryStore, platform.clock)
  return [
    bind(createHeadWriter(platform.store, await openLogHeads(dir.path)).keeper, {}),
    bind(createAuditService(verify, summaryStore, config.auditEveryHours), {}),
    serveAudits(context, verify),
  ]
})
