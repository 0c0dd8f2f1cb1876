import { type sendUnaryData, type ServerDuplexStream, type ServerReadableStream, status } from '@grpc/grpc-js'
import type {
  AppendReq,
  AppendResp,
  BatchAppendReq,
  BatchAppendResp,
} from '@kurrent/kurrentdb-client/generated/kurrentdb/protocols/v1/streams_pb.js'
import type { ServerNode } from './faults.ts'
import type { Proposed } from './log.ts'
import { appended, batchAppended, batchError, failure, proposed, textOf } from './messages.ts'

const shuttingDown = () => failure(status.UNAVAILABLE, 'the node is shutting down')

/** One append to a call. */
export const single =
  ({ log, faults, refusal }: ServerNode) =>
  (call: ServerReadableStream<AppendReq, AppendResp>, answer: sendUnaryData<AppendResp>): void => {
    const refused = refusal('append', call.metadata)
    if (refused) return answer(refused)
    let options: AppendReq.Options | undefined
    const events: Proposed[] = []
    call.on('data', (request: AppendReq) => {
      options = request.getOptions() ?? options
      const message = request.getProposedMessage()
      if (message) events.push(proposed(message))
    })
    call.on('end', () => {
      if (!options || faults.silent.has('append')) return
      const stream = textOf(options.getStreamIdentifier()?.getStreamName())
      const stored = log.append(stream, options.hasNoStream() ? undefined : BigInt(options.getRevision()), events)
      if (faults.lose === 'breaking') answer(shuttingDown())
      else if (!faults.lose) answer(null, appended(stored, faults.positions))
    })
  }

type Open = { readonly options: BatchAppendReq.Options; readonly events: Proposed[] }

/** Any number of appends to a call, each in parts. */
export const batches =
  ({ log, faults, calls, refusal }: ServerNode) =>
  (call: ServerDuplexStream<BatchAppendReq, BatchAppendResp>): void => {
    const refused = refusal('batchAppend', call.metadata)
    if (refused) return void call.emit('error', refused)
    const open = new Map<string, Open>()

    function store(correlation: string, { options, events }: Open): void {
      const stream = textOf(options.getStreamIdentifier()?.getStreamName())
      if (faults.batchError) return void call.write(batchError(stream, correlation, faults.batchError))
      const stored = log.append(stream, options.hasNoStream() ? undefined : BigInt(options.getStreamPosition()), events)
      if (faults.lose === 'breaking') call.emit('error', shuttingDown())
      else if (!faults.lose) call.write(batchAppended(stream, correlation, stored, faults.positions))
    }

    call.on('data', (request: BatchAppendReq) => {
      if (faults.silent.has('append')) {
        calls.push({ kind: 'stalled', credentials: undefined, prefixes: [] })
        return void call.pause()
      }
      const correlation = request.getCorrelationId()?.getString() ?? ''
      const options = request.getOptions()
      if (options) open.set(correlation, { options, events: [] })
      const batch = open.get(correlation)
      if (!batch) return
      batch.events.push(...request.getProposedMessagesList().map(proposed))
      if (!request.getIsFinal()) return
      open.delete(correlation)
      const again = refusal('batchAppend', call.metadata)
      if (again) call.emit('error', again)
      else store(correlation, batch)
    })
    call.on('end', () => call.end())
  }
