import { accounts } from '@penstock/accounts/service.ts'
import { channelWatcher } from '@penstock/channel-watcher/service.ts'
import { door } from '@penstock/gateway/assembly.ts'
import type { OperatorAudit } from '@penstock/gateway/operator/audit-routes.ts'
import type { Gateway } from '@penstock/gateway/ports.ts'
import { matching } from '@penstock/matching/service.ts'
import { orders } from '@penstock/order/service.ts'
import type { Embedded } from '@penstock/platforms/embedded.ts'
import { lastAudit } from '@penstock/platforms/audit-files.ts'
import type { Outside } from '@penstock/platforms/outside.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import { quoting } from '@penstock/quote/service.ts'
import { dailyAudit, keptAudit, type LastAudit } from '@penstock/runtime/audit-daily.ts'
import { bind, type Bound } from '@penstock/runtime/run.ts'
import { settlementService } from '@penstock/settlement/service.ts'
import { exportStored, replayStored } from './audit.ts'
import { verifyBeside } from './audit-beside.ts'

export type Assembly = {
  readonly dataDir: string
  readonly operatorToken: string
  readonly listening: (url: string) => void
  readonly readiness: () => Promise<string | undefined>
  /** Told once the gateway can send commands. */
  readonly opened: (gateway: Gateway) => void
}

/** All services with their ports: the one place that knows which service gets what. */
export async function assemble(platform: Embedded, outside: Outside, options: Assembly): Promise<readonly Bound[]> {
  const { dataDir, operatorToken, listening, readiness, opened } = options
  const { network, lightning, hostGuard, chain, keyring, rates, height, simulated } = outside
  const last = lastAudit(dataDir)
  const audit = auditOf(dataDir, last, platform.clock)
  return [
    bind(quoting(), { rates, chain, graph: lightning.graph }, height),
    bind(orders, { network }, height),
    bind(matching(), { chain, graph: lightning.graph }, height),
    bind(settlementService(), { lightning, chain, keyring, network }, height),
    bind(channelWatcher, { lightning, chain }, height),
    bind(accounts, {}),
    bind(dailyAudit(audit.verify, last, platform.config.auditEveryHours), {}),
    await door({
      platform,
      config: platform.config,
      lightning,
      hostGuard,
      chain,
      simulation: simulated?.control ?? null,
      audit,
      token: operatorToken,
      readiness,
      opened,
      listening,
    }),
  ]
}

/** An audit reads the files as an auditor would, past what the running services have in memory. */
const auditOf = (dataDir: string, last: LastAudit, clock: Clock): OperatorAudit => ({
  verify: keptAudit((note) => verifyBeside(dataDir, note === undefined ? {} : { note }), last, clock),
  replay: (orderId) => replayStored(dataDir, orderId),
  export: (orderId) => exportStored(dataDir, orderId),
})
