import type { Contract } from '@penstock/contracts/define.ts'
import { LRUCache } from 'lru-cache'
import type { Consumer } from '../consumers/consumer.ts'
import { describeConsumerSpan } from '../consumers/react.ts'
import { withSpan, type Tracing } from '../observability/tracing.ts'
import type { Projection } from '../service.ts'
import { STREAM_CACHE_SIZE } from '../stream-cache-size.ts'
import { createProjectionTransactions, type ProjectionContext, projectionName, streamOf } from './projection-transactions.ts'

export type ProjectorContext = ProjectionContext & { readonly tracing?: Tracing }

/**
 * Applies the facts of one owner to a projection.
 * @param transactions shared by the projectors of all owners, so that facts of different owners share transactions
 */
export function createProjector(
  context: ProjectorContext,
  projection: Projection,
  owner: string,
  contracts: readonly Contract[],
  transactions = createProjectionTransactions(context, projection),
): Consumer {
  const name = projectionName(context, projection)
  // This cache only finds gaps without a query; the transaction decides which facts were applied.
  const applied = new LRUCache<string, number>({ max: STREAM_CACHE_SIZE })
  return {
    name,
    owner,
    contracts,
    lastRevision: async (stream) => applied.get(stream) ?? (await context.progress.revision(name, stream)) ?? -1,
    apply: (event) =>
      withSpan(
        context.tracing,
        () => describeConsumerSpan(`project ${projection.name}`, context.service, event),
        async () => {
          if (await transactions.applyEvent(event)) applied.set(streamOf(event), event.revision)
        },
      ),
    ...(projection.outcome && { outcome: transactions.applyOutcome }),
  }
}
