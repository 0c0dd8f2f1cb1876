import { composePublicGateway } from '@penstock/gateway/assembly.ts'
import type { OperatorAudit } from '@penstock/gateway/operator/audit-routes.ts'
import type { Gateway } from '@penstock/gateway/ports.ts'
import type { EmbeddedPlatform } from '@penstock/platforms/embedded.ts'
import { openAuditSummary } from '@penstock/audit/head-files.ts'
import type { ExternalWorld } from '@penstock/platforms/external-world.ts'
import { createOwnPortOpeners } from '@penstock/platforms/own-ports.ts'
import { createVault } from '@penstock/platforms/vault.ts'
import { createWebhookGuard } from '@penstock/platforms/webhook-guard.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import { createAuditService, withStoredSummary, type AuditSummaryStore } from '@penstock/audit/daily.ts'
import { bindManifest } from '@penstock/runtime/manifest.ts'
import { bind, type BoundService } from '@penstock/runtime/run.ts'
import { exportStored, replayStored } from './audit.ts'
import type { DemoReceiver } from './demo-receiver.ts'
import { streamServices } from './registry.ts'
import { verifyInWorker } from './verify-in-worker.ts'

export type AssemblyOptions = {
  readonly dataDir: string
  readonly operatorToken: string
  /** Receives the webhooks of the demonstration; null without one. */
  readonly demoReceiver: DemoReceiver | null
  readonly onListening: (url: string) => void
  readonly readiness: () => Promise<string | undefined>
  readonly hasSpaceForOrders: () => boolean
  /** Called once the gateway can send commands. */
  readonly onGatewayOpened: (gateway: Gateway) => void
}

/** Binds all services to their ports. */
export async function assembleServices(
  platform: EmbeddedPlatform,
  externalWorld: ExternalWorld,
  options: AssemblyOptions,
): Promise<readonly BoundService[]> {
  const { dataDir, operatorToken, demoReceiver, onListening, readiness, hasSpaceForOrders, onGatewayOpened } = options
  const { lightning, hostGuard, chain, simulated } = externalWorld
  createVault(dataDir)
  const openers = createOwnPortOpeners(platform, { path: dataDir })
  const postWebhook = () => demoReceiver?.attachTo(openers.postWebhook()) ?? openers.postWebhook()
  const ownPorts = { ...openers, postWebhook }
  const webhookGuard = createWebhookGuard(platform.clock)
  const summaryStore = openAuditSummary(dataDir)
  const audit = createOperatorAudit(dataDir, summaryStore, platform.clock)
  return [
    ...streamServices.map((manifest) => bindManifest(manifest, { externalWorld: () => externalWorld, ...ownPorts })),
    bind(createAuditService(audit.verify, summaryStore, platform.config.auditEveryHours), {}),
    await composePublicGateway({
      platform,
      config: platform.config,
      lightning,
      hostGuard,
      webhookGuard: demoReceiver?.allowIn(webhookGuard) ?? webhookGuard,
      sealer: ownPorts.sealer(),
      chain,
      simulation: simulated?.control ?? null,
      audit,
      token: operatorToken,
      readiness,
      hasSpaceForOrders,
      onOpened: onGatewayOpened,
      onListening,
    }),
  ]
}

/** Creates the audits for operators. They read only the files, as an auditor does, and no state of the running services. */
const createOperatorAudit = (dataDir: string, summaryStore: AuditSummaryStore, clock: Clock): OperatorAudit => ({
  verify: withStoredSummary((note) => verifyInWorker(dataDir, note === undefined ? {} : { note }), summaryStore, clock),
  replay: (orderId) => replayStored(dataDir, orderId),
  export: (orderId) => exportStored(dataDir, orderId),
})
