import { createRequire } from 'node:module'
import { Metadata, type ServiceError, status } from '@grpc/grpc-js'
import shared from '@kurrent/kurrentdb-client/generated/kurrentdb/protocols/v1/shared_pb.js'
import statuses from '@kurrent/kurrentdb-client/generated/kurrentdb/protocols/v1/status_pb.js'
import type { BatchAppendReq, AppendReq, ReadReq } from '@kurrent/kurrentdb-client/generated/kurrentdb/protocols/v1/streams_pb.js'
import streams from '@kurrent/kurrentdb-client/generated/kurrentdb/protocols/v1/streams_pb.js'
import type { DoubleAppendOutcome, LogRecord, ProposedEvent } from './log.ts'

// Loads the client's copy of google-protobuf, because messages of another copy are not instances of its classes.
const requireOfClient = createRequire(createRequire(import.meta.url).resolve('@kurrent/kurrentdb-client'))
type Any = NonNullable<ReturnType<InstanceType<typeof statuses.Status>['getDetails']>>
const { Any } = requireOfClient('google-protobuf/google/protobuf/any_pb.js') as { Any: new () => Any } // this copy has no types
const { Empty } = requireOfClient('google-protobuf/google/protobuf/empty_pb.js') as { Empty: new () => Any }

const toBytes = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text))
export const bytesToText = (value: Uint8Array | string | undefined): string => Buffer.from(value ?? '').toString()
const createStreamIdentifier = (stream: string) => new shared.StreamIdentifier().setStreamName(toBytes(stream))

export function createReadEvent({ stream, revision, position, id, type, contentType, data, metadata }: LogRecord) {
  const event = new streams.ReadResp.ReadEvent.RecordedEvent()
    .setId(new shared.UUID().setString(id))
    .setStreamIdentifier(createStreamIdentifier(stream))
    .setStreamRevision(`${revision}`)
    .setCommitPosition(`${position}`)
    .setPreparePosition(`${position}`)
    .setData(data)
    .setCustomMetadata(metadata)
  event.getMetadataMap().set('type', type).set('content-type', contentType).set('created', '17000000000000000')
  return new streams.ReadResp().setEvent(new streams.ReadResp.ReadEvent().setEvent(event).setCommitPosition(`${position}`))
}

export const createStreamNotFound = (stream: string) =>
  new streams.ReadResp().setStreamNotFound(
    new streams.ReadResp.StreamNotFound().setStreamIdentifier(createStreamIdentifier(stream)),
  )

export const createConfirmation = () =>
  new streams.ReadResp().setConfirmation(new streams.ReadResp.SubscriptionConfirmation().setSubscriptionId(crypto.randomUUID()))

export const createCheckpoint = (position: bigint) =>
  new streams.ReadResp().setCheckpoint(
    new streams.ReadResp.Checkpoint().setCommitPosition(`${position}`).setPreparePosition(`${position}`),
  )

export const parseProposedEvent = (message: AppendReq.ProposedMessage | BatchAppendReq.ProposedMessage): ProposedEvent => ({
  id: message.getId()?.getString() ?? '',
  type: message.getMetadataMap().get('type') ?? '',
  contentType: message.getMetadataMap().get('content-type') ?? '',
  data: message.getData_asU8(),
  metadata: message.getCustomMetadata_asU8(),
})

export function createAppendResponse(outcome: DoubleAppendOutcome, withPosition: boolean) {
  const response = new streams.AppendResp()
  if ('wrong' in outcome) {
    const versionError = new streams.AppendResp.WrongExpectedVersion().setExpectedAny(new shared.Empty())
    const { current } = outcome.wrong
    return response.setWrongExpectedVersion(
      current === undefined ? versionError.setCurrentNoStream(new shared.Empty()) : versionError.setCurrentRevision(`${current}`),
    )
  }
  const success = new streams.AppendResp.Success().setCurrentRevision(`${outcome.revision}`)
  const position = new streams.AppendResp.Position()
    .setCommitPosition(`${outcome.position}`)
    .setPreparePosition(`${outcome.position}`)
  return response.setSuccess(withPosition ? success.setPosition(position) : success.setNoPosition(new shared.Empty()))
}

const createBatchResponse = (stream: string, correlation: string) =>
  new streams.BatchAppendResp()
    .setCorrelationId(new shared.UUID().setString(correlation))
    .setStreamIdentifier(createStreamIdentifier(stream))

export function createBatchAppendResponse(
  stream: string,
  correlation: string,
  outcome: DoubleAppendOutcome,
  withPosition: boolean,
) {
  if ('wrong' in outcome) {
    const versionError = new shared.WrongExpectedVersion().setExpectedAny(new Empty())
    const { current } = outcome.wrong
    if (current === undefined) versionError.setCurrentNoStream(new Empty())
    else versionError.setCurrentStreamRevision(`${current}`)
    return createBatchError(stream, correlation, 'WrongExpectedVersion', versionError.serializeBinary())
  }
  const success = new streams.BatchAppendResp.Success().setCurrentRevision(`${outcome.revision}`)
  const position = new shared.AllStreamPosition()
    .setCommitPosition(`${outcome.position}`)
    .setPreparePosition(`${outcome.position}`)
  return createBatchResponse(stream, correlation).setSuccess(
    withPosition ? success.setPosition(position) : success.setNoPosition(new Empty()),
  )
}

export function createBatchError(stream: string, correlation: string, type: string, details: Uint8Array = new Uint8Array()) {
  const any = new Any()
  any.pack(details, `event_store.client.${type}`)
  return createBatchResponse(stream, correlation).setError(new statuses.Status().setMessage(type).setDetails(any))
}

/** Creates the error that ends a call at the server. grpc-js sends its metadata as trailers. */
export function createServiceError(code: status, details: string, trailers: Readonly<Record<string, string>> = {}): ServiceError {
  const metadata = new Metadata()
  for (const [key, value] of Object.entries(trailers)) metadata.set(key, value)
  return Object.assign(new Error(details), { code, details, metadata })
}

export const createNotLeaderError = (host: string, port: number): ServiceError =>
  createServiceError(status.NOT_FOUND, 'Leader info available', {
    exception: 'not-leader',
    'leader-endpoint-host': host,
    'leader-endpoint-port': `${port}`,
  })

/** @returns a predicate for the events that a read of the whole log requests */
export function parseFilter(options: ReadReq.Options): (record: LogRecord) => boolean {
  const filter = options.getFilter()
  const ofType = filter?.getEventType()
  const expression = ofType ?? filter?.getStreamIdentifier()
  if (!expression) return () => true
  const prefixes = expression.getPrefixList()
  const regex = new RegExp(expression.getRegex())
  const matches = (name: string): boolean =>
    prefixes.length > 0 ? prefixes.some((prefix) => name.startsWith(prefix)) : regex.test(name)
  return ({ stream, type }) => matches(ofType ? type : stream)
}
