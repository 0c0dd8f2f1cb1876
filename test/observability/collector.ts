import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

type Value = {
  readonly stringValue?: string
  readonly intValue?: number | string
  readonly boolValue?: boolean
  readonly doubleValue?: number
}
type Attribute = { readonly key: string; readonly value: Value }
type WireSpan = {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly kind: number
  readonly attributes?: readonly Attribute[]
  readonly links?: readonly { readonly traceId: string; readonly spanId: string }[]
}
/** The part of OTLP that is looked at; see opentelemetry-proto, `ExportTraceServiceRequest`. */
type Export = {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] }
    readonly scopeSpans: readonly { readonly spans: readonly WireSpan[] }[]
  }[]
}

export type CollectedSpan = {
  readonly trace: string
  readonly id: string
  readonly parent: string | undefined
  readonly name: string
  /** `service.name` of the process that sent it. */
  readonly process: string
  readonly attributes: Readonly<Record<string, string | number | boolean | undefined>>
  readonly links: readonly string[]
}

export type Collector = {
  readonly url: string
  readonly spans: readonly CollectedSpan[]
  close(): Promise<void>
}

/** Who receives OTLP over HTTP, as JSON, and keeps the spans. */
export async function startCollector(): Promise<Collector> {
  const spans: CollectedSpan[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (text: string) => (body += text))
    request.on('end', () => {
      if (request.url === '/v1/traces') spans.push(...spansOf(JSON.parse(body) as Export)) // what the sender's serializer writes
      response.setHeader('content-type', 'application/json').end('{}')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo // it listens on TCP
  return {
    url: `http://127.0.0.1:${port}`,
    spans,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

const spansOf = ({ resourceSpans }: Export): readonly CollectedSpan[] =>
  resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const process = String(plain(resource.attributes)['service.name'])
    return scopeSpans.flatMap((scope) => scope.spans.map((span) => collected(span, process)))
  })

const collected = (span: WireSpan, process: string): CollectedSpan => ({
  trace: span.traceId,
  id: span.spanId,
  parent: span.parentSpanId === '' ? undefined : span.parentSpanId,
  name: span.name,
  process,
  attributes: plain(span.attributes ?? []),
  links: (span.links ?? []).map(({ traceId, spanId }) => `${traceId}-${spanId}`),
})

const plain = (attributes: readonly Attribute[]) =>
  Object.fromEntries(
    attributes.map(({ key, value }) => [
      key,
      value.stringValue ??
        value.boolValue ??
        value.doubleValue ??
        (value.intValue === undefined ? undefined : Number(value.intValue)),
    ]),
  )
