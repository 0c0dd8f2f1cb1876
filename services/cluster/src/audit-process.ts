import { createServer, type IncomingMessage } from 'node:http'
import { lastAudit, openHeads, readHeads } from '@penstock/platforms/audit-files.ts'
import { serverFaults } from '@penstock/platforms/cluster.ts'
import { type Home, runProcess } from '@penstock/platforms/process.ts'
import { audit, type AuditReport } from '@penstock/runtime/audit.ts'
import { dailyAudit, keptAudit } from '@penstock/runtime/audit-daily.ts'
import { exportProven } from '@penstock/runtime/audit-heads-order.ts'
import { headKeeper } from '@penstock/runtime/audit-keep.ts'
import { replayOrder } from '@penstock/runtime/audit-replay.ts'
import { bind, type Bound } from '@penstock/runtime/run.ts'
import { service } from '@penstock/runtime/service.ts'
import { audited } from '@penstock/standalone/services.ts'
import { z } from 'zod'

const BEAT_MS = 15_000
const verifying = z.strictObject({ note: z.string().max(128).optional() })
const ofOrder = z.strictObject({ orderId: z.string().max(64) })
type Verify = (note?: string) => Promise<AuditReport>
type Answers = Readonly<Record<string, (body: unknown) => Promise<unknown>>>

/** What the gateway asks on behalf of operators, by HTTP on this process's own port. */
const answering = ({ platform, config, dir }: Home, verify: Verify): Bound => {
  const { store, clock } = platform
  const heads = async () => readHeads(dir.market)
  const answers: Answers = {
    '/verify': async (body) => verify(verifying.parse(body).note),
    '/replay': async (body) => replayOrder(store, audited(), ofOrder.parse(body).orderId),
    '/export': async (body) => exportProven(store, audited(), ofOrder.parse(body).orderId, clock.now(), await heads()),
  }
  const run = async (_: object, signal: AbortSignal): Promise<void> => {
    const server = createServer((request, response) => {
      // An audit may take hours: spaces, which JSON allows, keep the connection alive meanwhile.
      const beat = setInterval(() => response.write(' '), BEAT_MS)
      void answerTo(answers, request).then((answer) => response.end(JSON.stringify(answer)))
      response.once('close', () => clearInterval(beat))
    })
    await new Promise<void>((resolve, reject) => server.once('error', reject).listen(config.port, config.host, resolve))
    await new Promise<void>((stop) => (signal.aborted ? stop() : signal.addEventListener('abort', () => stop())))
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  return bind(service('audit-answers', { jobs: [{ name: 'audits', run, looksOnly: true }] }), {})
}

async function answerTo(answers: Answers, request: IncomingMessage): Promise<object> {
  try {
    const answer = answers[request.url ?? '']
    if (!answer) return { error: 'there is no such audit' }
    let text = ''
    for await (const chunk of request.setEncoding('utf8')) text += chunk as string // the encoding is set
    return { value: await answer(JSON.parse(text)) }
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) }
  }
}

/** The auditor as a process of its own: it notes log heads, and folds the store with the code of all services, daily and when asked. */
await runProcess('audit', async (home) => {
  const { platform, config, dir } = home
  const last = lastAudit(dir.path)
  const audits = async (note?: string): Promise<AuditReport> => {
    const heads = await readHeads(dir.market)
    const storeFaults = await serverFaults(config)
    return audit(platform.store, audited(), { ...(heads && { heads }), ...(note !== undefined && { note }), storeFaults })
  }
  const verify = keptAudit(audits, last, platform.clock)
  return [
    bind(headKeeper(platform.store, await openHeads(dir.path)).keeper, {}),
    bind(dailyAudit(verify, last, config.auditEveryHours), {}),
    answering(home, verify),
  ]
})
