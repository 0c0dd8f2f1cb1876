import { operatorToken } from '@penstock/platforms/operator-token.ts'
import { runProcess } from '@penstock/platforms/process.ts'
import { door } from './assembly.ts'
import { remoteAudit } from './operator/remote-audit.ts'

await runProcess('gateway', async ({ config, dir, platform, outside, readiness, readyAfter }) => {
  const { promise, resolve: listening } = Promise.withResolvers<string>()
  readyAfter(promise)
  const { lightning, hostGuard, chain, simulated } = outside()
  const simulation = simulated?.control ?? null
  const token = operatorToken(dir, config, platform.ids)
  const audit = remoteAudit(config.auditUrl)
  return [await door({ platform, config, lightning, hostGuard, chain, simulation, audit, token, readiness, listening })]
})
