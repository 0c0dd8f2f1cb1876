import type { ReceiveCommand } from '@penstock/contracts/payments/receive.ts'
import type { SendCommand } from '@penstock/contracts/payments/send.ts'
import type { SandboxBehavior } from '@penstock/contracts/payments/shapes.ts'
import { SECOND_MS } from '@penstock/kernel/time.ts'
import type { BasePorts } from '@penstock/runtime/base-ports.ts'
import type { OutcomeEnrichment, RequestEnrichment } from './sandbox.ts'
import type { PaymentsView } from './views.ts'

type EnrichContext = { readonly ports: object & BasePorts }
type DataOf<C, Type> = C extends { readonly type: Type; readonly data: infer Data } ? Data : never

export const enrichRequestReceive =
  (view: PaymentsView) =>
  async (
    { issuedAt, ...request }: DataOf<ReceiveCommand, 'RequestReceive'>,
    { ports }: EnrichContext,
  ): Promise<RequestEnrichment> =>
    readEnrichment(view, request, issuedAt, ports)

export const enrichRequestSend =
  (view: PaymentsView) =>
  async (request: DataOf<SendCommand, 'RequestSend'>, { ports }: EnrichContext): Promise<RequestEnrichment> =>
    readEnrichment(view, request, ports.clock.now(), ports)

export const enrichSandboxOutcome =
  (view: PaymentsView) =>
  async (_: object, { ports }: EnrichContext): Promise<OutcomeEnrichment> => ({ rate: view.rateAt(ports.clock.now()) })

type Request = { readonly walletId: string; readonly environmentId: string; readonly behavior: SandboxBehavior }

const readEnrichment = (
  view: PaymentsView,
  request: Request,
  startedAt: number,
  { clock, config }: EnrichContext['ports'],
): RequestEnrichment => ({
  rate: view.rateAt(clock.now()),
  outcomeAt: request.behavior === 'expire' ? null : startedAt + config.sandboxOutcomeSeconds * SECOND_MS,
  isDeleted: view.isDeleted(request),
})
