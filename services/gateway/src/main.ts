import { operatorToken } from '@penstock/platforms/data-dir.ts'
import { runProcess } from '@penstock/platforms/process.ts'
import { door } from './assembly.ts'
import { remoteAudit } from './operator/remote-audit.ts'

await runProcess('gateway', async ({ config, dir, platform, outside, readiness, readyAfter }) => {
  const { promise, resolve: listening } = Promise.withResolvers<string>()
  readyAfter(promise)
  const { lightning, chain, simulated } = outside()
  const simulation = simulated?.control ?? null
  const token = operatorToken(dir, config, platform.ids)
  const audit = remoteAudit(config.auditUrl)
  return [await door({ platform, config, lightning, chain, simulation, audit, token, readiness, listening })]
})
