import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { readConfig, unknownSettings } from '@penstock/runtime/config.ts'
import { commandTopic } from '@penstock/runtime/messages.ts'
import { beforeAll, describe, expect, test } from 'vitest'
import { kubernetes, noKubernetes, valuesFiles } from './chart.ts'
import { mayCall, objects, podsOf, selects, type Thing } from './objects.ts'

const services = new URL('../../services/', import.meta.url)
/** Services whose main.ts asks for the world outside. */
const reachOutside = readdirSync(services).filter((name) => {
  const main = new URL(`${name}/src/main.ts`, services)
  return name !== 'cluster' && existsSync(main) && readFileSync(main, 'utf8').includes('outside()')
})
/** One process each, with a disk. */
const SINGLE = ['audit', 'simnet', 'sellers']

describe.skipIf(noKubernetes)('the shape of a release', () => {
  const cluster = kubernetes(0)
  const made = new Map<string, readonly Thing[]>()
  beforeAll(async () => {
    if (noKubernetes) return
    for (const file of valuesFiles) made.set(file, await objects(cluster(), file))
  }, 120_000)

  describe.each(valuesFiles)('%s', (file) => {
    const withSimnet = file !== 'values-production.yaml'
    const things = (): readonly Thing[] => made.get(file) ?? []
    const of = (kind: string): readonly Thing[] => things().filter((thing) => thing.kind === kind)
    const namesOf = (some: readonly Thing[]): readonly string[] => some.map(({ metadata }) => metadata.name).toSorted()
    const mounting = (secret: RegExp): readonly string[] =>
      podsOf(things())
        .filter(({ pod }) => pod.spec.volumes.some((volume) => secret.test(volume.secret?.secretName ?? '')))
        .map(({ name }) => name)
        .toSorted()

    const settingOf = (component: string, setting: string): string | undefined =>
      podsOf(things())
        .find(({ name }) => name === component)
        ?.pod.spec.containers[0].env.find(({ name }) => name === setting)?.value

    test('only the gateway is reachable', () => {
      const withAddress = of('Service').filter(({ spec }) => spec.type !== 'ClusterIP' || spec.clusterIP !== 'None')
      expect(namesOf(withAddress)).toEqual(['penstock-gateway'])
      const backends = of('Ingress')
        .flatMap(({ spec }) => spec.rules ?? [])
        .flatMap(({ http }) => http.paths)
      expect(backends.filter(({ backend }) => backend.service.name !== 'penstock-gateway')).toEqual([])
      const open = of('NetworkPolicy').filter(({ spec }) =>
        (spec.ingress ?? []).some(
          ({ from, ports }) =>
            ports?.every(({ port }) => port === 'health') !== true &&
            from?.every(({ podSelector, namespaceSelector }) => podSelector && !namespaceSelector) !== true,
        ),
      )
      expect(namesOf(open)).toEqual(['penstock-gateway'])
      const onHost = podsOf(things()).filter(
        ({ pod: { spec } }) =>
          spec.hostNetwork === true || spec.containers[0].ports?.some(({ hostPort }) => hostPort !== undefined),
      )
      expect(onHost).toEqual([])
    })

    test('nobody calls anybody, but for what is needed', () => {
      const pods = podsOf(things())
      const calls = pods.flatMap((from) =>
        pods
          .filter((to) =>
            ['http', 'health'].some((port) => mayCall(things(), from.pod.metadata.labels, to.pod.metadata.labels, port)),
          )
          .map((to) => `${from.name} > ${to.name}`),
      )
      const simulated = [...[...reachOutside, 'sellers'].map((name) => `${name} > simnet`), 'sellers > gateway']
      expect(calls.toSorted()).toEqual(['gateway > audit', ...(withSimnet ? simulated : [])].toSorted())
      const policies = of('NetworkPolicy')
      const uncovered = pods.filter(
        ({ pod }) => policies.filter(({ spec }) => selects(spec.podSelector ?? {}, pod.metadata.labels)).length < 2,
      )
      expect(uncovered).toEqual([])
      expect(policies.filter(({ spec }) => spec.policyTypes?.length !== 2)).toEqual([])
    })

    test('each mounts its own secrets, and settlement alone the keyring', () => {
      expect(mounting(/keyring/)).toEqual(['settlement'])
      expect(mounting(/audit/)).toEqual(['audit'])
      expect(mounting(/gateway/)).toEqual(withSimnet ? ['gateway', 'sellers'] : ['gateway'])
      expect(mounting(/postgres(-roles)?$/)).toEqual([...reachOutside, 'accounts', 'audit', 'migrate'].toSorted())
      const atBrokers = podsOf(things()).flatMap(({ name, pod }) =>
        pod.spec.volumes.flatMap(({ name: volume, secret }) =>
          volume === 'kafka' && secret ? [{ name, secret: secret.secretName, keys: secret.items?.map(({ key }) => key) }] : [],
        ),
      )
      const own = [...reachOutside, 'accounts', 'audit'].map((name) => ({ name, secret: 'penstock-kafka-users', keys: [name] }))
      const granter = { name: 'migrate', secret: 'penstock-kafka', keys: ['password'] }
      const expected = file === 'values-production.yaml' ? [...own, granter] : []
      const byName = (a: { name: string }, b: { name: string }) => a.name.localeCompare(b.name)
      expect(atBrokers.toSorted(byName)).toEqual(expected.toSorted(byName))
    })

    test('a secret that is read again while a process runs is a folder: by subPath it would never follow', () => {
      // These are read at start, and lie in a folder that the process writes to.
      const readAtStart = ['audit-key', 'pepper']
      const mounts = podsOf(things()).flatMap(({ pod }) => pod.spec.containers[0].volumeMounts ?? [])
      const bySubPath = mounts.filter(({ subPath }) => subPath !== undefined).map(({ name }) => name)
      expect(bySubPath.toSorted()).toEqual(readAtStart)
      expect(mounts.find(({ name }) => name === 'keyring')?.mountPath).toBe(settingOf('settlement', 'PENSTOCK_KEYRING_DIR'))
    })

    test('no secret is in anything but a Secret, and the code accepts every setting', () => {
      expect(of('ConfigMap')).toEqual([])
      const others = JSON.stringify(things().filter(({ kind }) => kind !== 'Secret'))
      const secrets = of('Secret').flatMap(({ data = {} }) => Object.values(data))
      const told = secrets.filter(
        (secret) => others.includes(secret) || others.includes(Buffer.from(secret, 'base64').toString()),
      )
      expect(told).toEqual([])
      expect(others).not.toMatch(/:\/\/[^/"]*:[^/"@]*@/)
      const env = podsOf(things()).flatMap(({ pod }) => pod.spec.containers[0].env)
      expect(env.filter(({ name }) => /(TOKEN|PASSWORD|KEY)$/.test(name))).toEqual([])
      expect(env.filter(({ valueFrom }) => valueFrom && !valueFrom.fieldRef)).toEqual([])
      for (const { pod } of podsOf(things())) {
        const given = Object.fromEntries(pod.spec.containers[0].env.map(({ name, value }) => [name, value]))
        expect(unknownSettings(given)).toEqual([])
        readConfig(given)
      }
    })

    test('pods have no rights, a read-only file system, limits and probes', () => {
      expect(things().filter(({ kind }) => /Role|Binding/.test(kind))).toEqual([])
      expect(of('ServiceAccount').filter(({ automountServiceAccountToken }) => automountServiceAccountToken !== false)).toEqual(
        [],
      )
      for (const { name, pod } of podsOf(things())) {
        const [container] = pod.spec.containers
        expect(pod.spec).toMatchObject({
          serviceAccountName: `penstock-${name}`,
          automountServiceAccountToken: false,
          enableServiceLinks: false,
        })
        expect(container.securityContext).toMatchObject({
          readOnlyRootFilesystem: true,
          allowPrivilegeEscalation: false,
          capabilities: { drop: ['ALL'] },
        })
        expect(Object.keys(container.resources.limits ?? {})).toEqual(['memory'])
        expect(Object.keys(container.resources.requests ?? {}).toSorted()).toEqual(['cpu', 'memory'])
        expect(pod.spec.volumes.filter(({ hostPath }) => hostPath)).toEqual([])
      }
      const unasked = podsOf(things()).filter(
        ({ pod: { spec } }) => !spec.containers[0].readinessProbe || !spec.containers[0].livenessProbe,
      )
      expect(unasked.map(({ name }) => name).toSorted()).toEqual(withSimnet ? ['migrate', 'sellers'] : ['migrate'])
    })

    test('every service has a disruption budget', () => {
      const several = of('Deployment').filter(
        ({ metadata: { labels } }) => !SINGLE.includes(labels['app.kubernetes.io/component'] ?? ''),
      )
      expect(namesOf(of('PodDisruptionBudget'))).toEqual(namesOf(several))
      expect(several).toHaveLength(7)
    })
  })

  test('with a node, settlement alone mounts the macaroon that moves money, and only those who ask the node reach it', () => {
    const things = made.get('values-production.yaml') ?? []
    const mounting = (secret: string): readonly string[] =>
      podsOf(things)
        .filter(({ pod }) => JSON.stringify(pod.spec.volumes).includes(`"${secret}"`))
        .map(({ name }) => name)
        .toSorted()
    expect(mounting('penstock-lnd-settlement')).toEqual(['settlement'])
    expect(mounting('penstock-lnd-watcher')).toEqual(['channel-watcher'])
    expect(mounting('penstock-lnd-reader')).toEqual(
      reachOutside.filter((name) => !['settlement', 'channel-watcher'].includes(name)),
    )
    const toNode = things.filter(({ spec }) => spec?.egress?.some(({ ports }) => ports?.some(({ port }) => port === 10009)))
    expect(toNode.map(({ metadata }) => metadata.name.replace('penstock-', '')).toSorted()).toEqual([...reachOutside].toSorted())
  })

  test('quote alone reaches the sources of the rate, and only where they are asked', async () => {
    const asking = (things: readonly Thing[]): readonly string[] =>
      things
        .filter(({ spec }) => spec?.egress?.some(({ ports }) => ports?.some(({ port }) => port === 443)))
        .map(({ metadata }) => metadata.name)
    expect(asking(made.get('values-production.yaml') ?? [])).toEqual(['penstock-quote'])
    expect(asking(made.get('values.yaml') ?? [])).toEqual([])
    const regtest = await objects(cluster(), 'values-production.yaml', '--set', 'lightning.lnd.network=regtest')
    expect(asking(regtest)).toEqual([])
  })

  test('the job that migrates has the settings that all others have', async () => {
    const things = await objects(cluster(), 'values.yaml', '--set-string', 'settings.PENSTOCK_POSTGRES_TIMEOUT_SECONDS=99')
    const without = podsOf(things).filter(
      ({ pod }) =>
        !pod.spec.containers[0].env.some(({ name, value }) => name === 'PENSTOCK_POSTGRES_TIMEOUT_SECONDS' && value === '99'),
    )
    expect(without.map(({ name }) => name)).toEqual([])
  })

  test('servers with an authority of their own: its certificate is where the settings say', async () => {
    const things = await objects(
      cluster(),
      'values-production.yaml',
      '--set-string',
      'eventStore.url=kurrentdb://admin@x:2113?tlsCAFile=/run/secrets/event-store-ca/ca.crt',
      '--set-string',
      'eventStore.passwordSecret.name=store,eventStore.caSecret=store-ca,lightning.bitcoind.certSecret=rpc-cert',
    )
    const pod = podsOf(things).find(({ name }) => name === 'settlement')?.pod
    const [container] = pod?.spec.containers ?? []
    const at = Object.fromEntries((container?.volumeMounts ?? []).map(({ name, mountPath }) => [mountPath, name]))
    expect(at).toMatchObject({ '/run/secrets/event-store-ca': 'event-store-ca', '/run/secrets/bitcoind-cert': 'bitcoind-cert' })
    expect(container?.env).toContainEqual({ name: 'PENSTOCK_BITCOIND_CERT_FILE', value: '/run/secrets/bitcoind-cert/tls.cert' })
    const secrets = pod?.spec.volumes.map(({ secret }) => secret?.secretName)
    expect(secrets).toEqual(expect.arrayContaining(['store', 'store-ca', 'rpc-cert']))
  })

  test('a password of its own for another PostgreSQL would do nothing, and is refused', async () => {
    const asked = objects(
      cluster(),
      'values.yaml',
      '--set-string',
      'eventStore.url=postgres://penstock@events:5432/events,eventStore.passwordSecret.name=store',
    )
    await expect(asked).rejects.toThrow(/passwordSecret/)
  })

  test('where somebody scales, the chart names no number', () => {
    const things = made.get('values-production.yaml') ?? []
    const scaled = things.flatMap(({ spec }) => spec?.scaleTargetRef?.name ?? [])
    expect(scaled.toSorted()).toEqual(['gateway', 'matching', 'order', 'quote'].map((name) => `penstock-${name}`))
    // The server writes 1 where nothing is said.
    const replicas = things
      .filter(({ kind, metadata }) => kind === 'Deployment' && scaled.includes(metadata.name))
      .map(({ spec }) => spec.replicas)
    expect(replicas).toEqual([1, 1, 1, 1])
  })

  test('lag is that of the commands that wait for a service', () => {
    const triggers = (made.get('values-production.yaml') ?? []).flatMap(({ kind, spec }) =>
      kind === 'ScaledObject' ? (spec.triggers ?? []) : [],
    )
    const seen = triggers.map(({ metadata: { topic, consumerGroup } }) => ({ topic, consumerGroup }))
    const wanted = ['matching', 'order', 'quote'].map((name) => ({
      topic: `penstock.${commandTopic(name)}`,
      consumerGroup: `penstock.${name}@${commandTopic(name)}`,
    }))
    expect(seen.toSorted((a, b) => (a.topic < b.topic ? -1 : 1))).toEqual(wanted)
  })

  test.each([
    ['plain', 'plaintext'],
    ['scram-sha-256', 'scram_sha256'],
    ['scram-sha-512', 'scram_sha512'],
  ])('the scaler logs in to Kafka by %s under its own name for it', async (sasl, name) => {
    const things = await objects(cluster(), 'values-production.yaml', '--set', `kafka.sasl=${sasl}`)
    const triggers = things.flatMap(({ kind, spec }) => (kind === 'ScaledObject' ? (spec.triggers ?? []) : []))
    expect(triggers.map(({ metadata }) => metadata.sasl)).toEqual([name, name, name])
  })

  test('rules and metrics are told to Prometheus', () => {
    const things = made.get('values-production.yaml') ?? []
    expect(things.filter(({ kind }) => kind === 'ServiceMonitor')).toHaveLength(1)
    expect(things.filter(({ kind }) => kind === 'PrometheusRule').length).toBeGreaterThan(0)
  })

  test('after a restore every process is told so', async () => {
    const things = await objects(cluster(), 'values.yaml', '--set', 'restored=true')
    const told = podsOf(things).map(({ name, pod }) => [
      name,
      pod.spec.containers[0].env.find((one) => one.name === 'PENSTOCK_RESTORED')?.value,
    ])
    const deciding = [...reachOutside, 'accounts', 'audit']
    expect(told.filter(([name = '', value]) => deciding.includes(name) && value !== '1')).toEqual([])
    expect(deciding.filter((name) => !told.some(([one]) => one === name))).toEqual([])
  })

  test('a token of the brokers is a file that follows its Secret, and every address that is named may be called', async () => {
    const things = await objects(
      cluster(),
      'values.yaml',
      '--set',
      'kafka.sasl=oauthbearer,kafka.tokenSecret.name=penstock-kafka-token',
      '--set-json',
      'kafka.brokers=["a:9093","b:9094"]',
      '--set-string',
      'eventStore.url=kurrentdb+discover://admin@x:2114\\,y:2115\\,z?tls=false',
      '--set-string',
      'eventStore.passwordSecret.name=penstock-store',
    )
    const order = podsOf(things).find(({ name }) => name === 'order')?.pod.spec.containers[0]
    const env = Object.fromEntries((order?.env ?? []).map(({ name, value }) => [name, value]))
    expect(env['PENSTOCK_KAFKA_TOKEN_FILE']).toBe('/run/secrets/kafka-token/token')
    expect(env).not.toHaveProperty('PENSTOCK_KAFKA_PASSWORD_FILE')
    expect(order?.volumeMounts).toContainEqual(
      expect.objectContaining({ name: 'kafka-token', mountPath: '/run/secrets/kafka-token' }),
    )
    const { spec } = things.find(({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name.endsWith('-order')) ?? {}
    const called = (spec?.egress ?? []).flatMap(({ ports = [] }) => ports.map(({ port }) => port))
    expect(called).toEqual(expect.arrayContaining([5432, 9093, 9094, 2113, 2114, 2115]))
  })
})
