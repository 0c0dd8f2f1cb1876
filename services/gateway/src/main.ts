import { resolveOperatorToken } from '@penstock/credentials/operator-token.ts'
import { runProcess } from '@penstock/platforms/process.ts'
import { composePublicGateway } from './assembly.ts'
import { gatewayManifest } from './manifest.ts'
import { createRemoteAudit } from './operator/remote-audit.ts'

await runProcess(gatewayManifest, async ({ dir, externalWorld, ownPorts, findMissing, delayReadiness, ...own }) => {
  const { promise, resolve: onListening } = Promise.withResolvers<string>()
  delayReadiness(promise)
  const { lightning, hostGuard, chain, simulated } = externalWorld()
  const ports = { lightning, hostGuard, chain, simulation: simulated?.control ?? null, sealer: ownPorts.sealer() }
  const token = resolveOperatorToken(dir, own.config, own.platform.ids)
  const audit = createRemoteAudit(own.config.auditUrl)
  return [await composePublicGateway({ ...own, ...ports, audit, token, readiness: findMissing, onListening })]
})
