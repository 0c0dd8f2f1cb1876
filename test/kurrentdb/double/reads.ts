import { type ServerWritableStream, status } from '@grpc/grpc-js'
import streams, { type ReadReq, type ReadResp } from '@kurrent/kurrentdb-client/generated/kurrentdb/protocols/v1/streams_pb.js'
import type { ServerNode } from './faults.ts'
import type { ServerLog } from './log.ts'
import { confirmation, failure, filterOf, recordedEvent, streamNotFound, textOf } from './messages.ts'
import type { subscriptions } from './subscriptions.ts'

/** Pages of a stream or of the whole log, and subscriptions to that. */
export const reads =
  ({ log, faults, refusal }: ServerNode, subscribed: ReturnType<typeof subscriptions>) =>
  (call: ServerWritableStream<ReadReq, ReadResp>): void => {
    const options = call.request.getOptions()
    if (!options) return void call.emit('error', failure(status.INVALID_ARGUMENT, 'no options'))
    const kind = options.hasSubscription() ? 'subscribe' : 'read'
    const refused = refusal(kind, call.metadata, options.getFilter()?.getStreamIdentifier()?.getPrefixList())
    if (refused) return void call.emit('error', refused)
    if (faults.silent.has(kind)) return
    const from = options.getAll()?.getPosition()?.getCommitPosition()
    const end = log.all().at(-1)?.position ?? 0n
    if (from !== undefined && BigInt(from) <= end && !log.all().some(({ position }) => position === BigInt(from))) {
      if (kind === 'read') return void call.emit('error', failure(status.UNKNOWN, 'Unexpected ReadAllResult: InvalidPosition'))
      call.write(confirmation())
      return void call.emit('error', failure(status.INVALID_ARGUMENT, 'Trying to read from an invalid position.'))
    }
    if (kind === 'subscribe') return subscribed.add(call, options)
    for (const response of page(log, options)) call.write(response)
    call.end()
  }

function page(log: ServerLog, options: ReadReq.Options): ReadResp[] {
  const count = Number(options.getCount())
  const stream = options.getStream()
  if (stream) {
    const name = textOf(stream.getStreamIdentifier()?.getStreamName())
    const records = log.stream(name)
    if (!records) return [streamNotFound(name)]
    const from = BigInt(stream.hasRevision() ? stream.getRevision() : 0)
    const first = firstShown(log, name)
    return records
      .filter(({ revision }) => revision >= from && revision >= first)
      .slice(0, count)
      .map(recordedEvent)
  }
  const from = BigInt(options.getAll()?.getPosition()?.getCommitPosition() ?? 0)
  const isWanted = filterOf(options)
  if (options.getReadDirection() === streams.ReadReq.Options.ReadDirection.BACKWARDS)
    return log.all().filter(isWanted).toReversed().slice(0, count).map(recordedEvent)
  return log
    .all()
    .filter((record) => record.position >= from && isWanted(record))
    .slice(0, count)
    .map(recordedEvent)
}

/** A stream's metadata hide its oldest events from its readers at once; readers of the whole log see them until a scavenge. */
function firstShown(log: ServerLog, stream: string): bigint {
  const newest = log.stream(`$$${stream}`)?.at(-1)
  const settings = newest ? (JSON.parse(textOf(newest.data)) as { readonly $tb?: number; readonly $maxCount?: number }) : {}
  const next = BigInt(log.stream(stream)?.length ?? 0)
  const byCount = settings.$maxCount === undefined ? 0n : next - BigInt(settings.$maxCount)
  const byRevision = BigInt(settings.$tb ?? 0)
  return byCount > byRevision ? byCount : byRevision
}
