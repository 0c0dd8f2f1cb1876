import { resolveOperatorToken } from '@penstock/credentials/operator-token.ts'
import { runProcess } from '@penstock/platforms/process.ts'
import { composePublicGateway } from './assembly.ts'
import { gatewayManifest } from './manifest.ts'
import { createRemoteAudit } from './operator/remote-audit.ts'

await runProcess(gatewayManifest, async ({ config, dir, platform, externalWorld, findMissing, delayReadiness }) => {
  const { promise, resolve: onListening } = Promise.withResolvers<string>()
  delayReadiness(promise)
  const { lightning, hostGuard, chain, simulated } = externalWorld()
  const externalPorts = { lightning, hostGuard, chain, simulation: simulated?.control ?? null }
  const token = resolveOperatorToken(dir, config, platform.ids)
  const audit = createRemoteAudit(config.auditUrl)
  return [await composePublicGateway({ platform, config, ...externalPorts, audit, token, readiness: findMissing, onListening })]
})
