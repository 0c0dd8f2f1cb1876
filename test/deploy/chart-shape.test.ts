import { contracts } from '@penstock/contracts/contracts.ts'
import { sendersOf } from '@penstock/contracts/define.ts'
import { readConfig, findUnknownSettings } from '@penstock/config/config.ts'
import { findSpecialPurposeBlock } from '@penstock/outbound/address.ts'
import { commandTopic } from '@penstock/runtime/commands/messages.ts'
import { needsExternalWorld } from '@penstock/runtime/manifest.ts'
import { serviceNames, services } from '@penstock/standalone/registry.ts'
import { beforeAll, describe, expect, test } from 'vitest'
import { useKubernetes, isKubernetesMissing, valuesFiles } from './chart.ts'
import { mayCall, renderObjects, listPods, isSelected, type KubernetesObject } from './objects.ts'

/** Services that connect to the Lightning network. */
const reachOutside = services.filter(needsExternalWorld).map(({ name }) => name)
/** Services that an autoscaler scales in values-production.yaml. */
const scaledServices = services.filter(({ scaling }) => scaling.by !== 'none').map(({ name }) => name)
/** Components that run as a single process with a disk. */
const SINGLE = ['audit', 'simnet', 'sellers']

describe.skipIf(isKubernetesMissing)('the objects that the chart renders', () => {
  const cluster = useKubernetes(0)
  const objectsByFile = new Map<string, readonly KubernetesObject[]>()
  beforeAll(async () => {
    if (isKubernetesMissing) return
    for (const file of valuesFiles) objectsByFile.set(file, await renderObjects(cluster(), file))
  }, 120_000)

  describe.each(valuesFiles)('%s', (file) => {
    const withSimnet = file !== 'values-production.yaml'
    const renderedObjects = (): readonly KubernetesObject[] => objectsByFile.get(file) ?? []
    const of = (kind: string): readonly KubernetesObject[] => renderedObjects().filter((thing) => thing.kind === kind)
    const namesOf = (some: readonly KubernetesObject[]): readonly string[] => some.map(({ metadata }) => metadata.name).toSorted()
    const mounting = (secret: RegExp): readonly string[] =>
      listPods(renderedObjects())
        .filter(({ pod }) => pod.spec.volumes.some((volume) => secret.test(volume.secret?.secretName ?? '')))
        .map(({ name }) => name)
        .toSorted()

    const settingOf = (component: string, setting: string): string | undefined =>
      listPods(renderedObjects())
        .find(({ name }) => name === component)
        ?.pod.spec.containers[0].env.find(({ name }) => name === setting)?.value

    test('only the gateway is reachable from outside the release', () => {
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
      const onHost = listPods(renderedObjects()).filter(
        ({ pod: { spec } }) =>
          spec.hostNetwork === true || spec.containers[0].ports?.some(({ hostPort }) => hostPort !== undefined),
      )
      expect(onHost).toEqual([])
    })

    test('pods may call only the pods that they need', () => {
      const pods = listPods(renderedObjects())
      const calls = pods.flatMap((from) =>
        pods
          .filter((to) =>
            ['http', 'health'].some((port) => mayCall(renderedObjects(), from.pod.metadata.labels, to.pod.metadata.labels, port)),
          )
          .map((to) => `${from.name} > ${to.name}`),
      )
      const simulated = [...[...reachOutside, 'sellers'].map((name) => `${name} > simnet`), 'sellers > gateway']
      expect(calls.toSorted()).toEqual(['gateway > audit', ...(withSimnet ? simulated : [])].toSorted())
      const policies = of('NetworkPolicy')
      const uncovered = pods.filter(
        ({ pod }) => policies.filter(({ spec }) => isSelected(spec.podSelector ?? {}, pod.metadata.labels)).length < 2,
      )
      expect(uncovered).toEqual([])
      expect(policies.filter(({ spec }) => spec.policyTypes?.length !== 2)).toEqual([])
    })

    test('each pod mounts only its own secrets, and only settlement mounts the keyring', () => {
      expect(mounting(/keyring/)).toEqual(['settlement'])
      expect(mounting(/audit/)).toEqual(['audit'])
      expect(mounting(/vault/)).toEqual(['gateway', 'payments'])
      expect(mounting(/gateway/)).toEqual(withSimnet ? ['gateway', 'sellers'] : ['gateway'])
      expect(mounting(/postgres(-roles)?$/)).toEqual([...serviceNames, 'audit', 'migrate'].toSorted())
      const atBrokers = listPods(renderedObjects()).flatMap(({ name, pod }) =>
        pod.spec.volumes.flatMap(({ name: volume, secret }) =>
          volume === 'kafka' && secret ? [{ name, secret: secret.secretName, keys: secret.items?.map(({ key }) => key) }] : [],
        ),
      )
      const secretNames = [...serviceNames, 'audit'].map((name) => ({
        name,
        secret: 'penstock-kafka-users',
        keys: [name],
      }))
      const granter = { name: 'migrate', secret: 'penstock-kafka', keys: ['password'] }
      const expected = file === 'values-production.yaml' ? [...secretNames, granter] : []
      const byName = (a: { name: string }, b: { name: string }) => a.name.localeCompare(b.name)
      expect(atBrokers.toSorted(byName)).toEqual(expected.toSorted(byName))
    })

    test('a secret that a running process reads again is mounted as a folder, because a subPath mount is never updated', () => {
      // A process reads these two secrets only at its start, and writes other files into their folder.
      const readAtStart = ['audit-key', 'pepper']
      const mounts = listPods(renderedObjects()).flatMap(({ pod }) => pod.spec.containers[0].volumeMounts ?? [])
      const bySubPath = mounts.filter(({ subPath }) => subPath !== undefined).map(({ name }) => name)
      expect(bySubPath.toSorted()).toEqual(readAtStart)
      expect(mounts.find(({ name }) => name === 'keyring')?.mountPath).toBe(settingOf('settlement', 'PENSTOCK_KEYRING_DIR'))
    })

    test('payments alone has the private keys of the vault, and the gateway has the public ones', () => {
      const keysOf = (component: string): readonly string[] =>
        listPods(renderedObjects())
          .filter(({ name }) => name === component)
          .flatMap(({ pod }) => pod.spec.volumes.filter(({ name }) => name === 'vault'))
          .flatMap(({ secret }) => secret?.items?.map(({ key }) => key) ?? ['all'])
      expect([keysOf('payments'), keysOf('gateway')]).toEqual([['vault.json'], ['vault.pub.json']])
      const files = [settingOf('payments', 'PENSTOCK_VAULT_FILE'), settingOf('gateway', 'PENSTOCK_VAULT_PUBLIC_FILE')]
      expect(files).toEqual(['/run/secrets/vault/vault.json', '/run/secrets/vault/vault.pub.json'])
      const mounts = listPods(renderedObjects()).flatMap(({ pod }) => pod.spec.containers[0].volumeMounts ?? [])
      expect(mounts.filter(({ name }) => name === 'vault').map(({ mountPath }) => mountPath)).toEqual(
        files.map(() => '/run/secrets/vault'),
      )
    })

    test('secrets are only in objects of the kind Secret, and the code accepts every setting', () => {
      expect(of('ConfigMap')).toEqual([])
      const manifests = JSON.stringify(renderedObjects().filter(({ kind }) => kind !== 'Secret'))
      const secrets = of('Secret').flatMap(({ data = {} }) => Object.values(data))
      const leakedSecrets = secrets.filter(
        (secret) => manifests.includes(secret) || manifests.includes(Buffer.from(secret, 'base64').toString()),
      )
      expect(leakedSecrets).toEqual([])
      expect(manifests).not.toMatch(/:\/\/[^/"]*:[^/"@]*@/)
      const env = listPods(renderedObjects()).flatMap(({ pod }) => pod.spec.containers[0].env)
      expect(env.filter(({ name }) => /(TOKEN|PASSWORD|KEY)$/.test(name))).toEqual([])
      expect(env.filter(({ valueFrom }) => valueFrom && !valueFrom.fieldRef)).toEqual([])
      for (const { pod } of listPods(renderedObjects())) {
        const environment = Object.fromEntries(pod.spec.containers[0].env.map(({ name, value }) => [name, value]))
        expect(findUnknownSettings(environment)).toEqual([])
        readConfig(environment)
      }
    })

    test('pods have no API permissions, a read-only file system, resource limits and probes', () => {
      expect(renderedObjects().filter(({ kind }) => /Role|Binding/.test(kind))).toEqual([])
      expect(of('ServiceAccount').filter(({ automountServiceAccountToken }) => automountServiceAccountToken !== false)).toEqual(
        [],
      )
      for (const { name, pod } of listPods(renderedObjects())) {
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
      const withoutProbes = listPods(renderedObjects()).filter(
        ({ pod: { spec } }) => !spec.containers[0].readinessProbe || !spec.containers[0].livenessProbe,
      )
      expect(withoutProbes.map(({ name }) => name).toSorted()).toEqual(withSimnet ? ['migrate', 'sellers'] : ['migrate'])
    })

    test('every replicated service has a disruption budget', () => {
      const several = of('Deployment').filter(
        ({ metadata: { labels } }) => !SINGLE.includes(labels['app.kubernetes.io/component'] ?? ''),
      )
      expect(namesOf(of('PodDisruptionBudget'))).toEqual(namesOf(several))
      expect(several).toHaveLength(services.length)
    })
  })

  test('with an lnd node, only settlement mounts the macaroon that can pay, and only callers of the node may reach it', () => {
    const renderedObjects = objectsByFile.get('values-production.yaml') ?? []
    const mounting = (secret: string): readonly string[] =>
      listPods(renderedObjects)
        .filter(({ pod }) => JSON.stringify(pod.spec.volumes).includes(`"${secret}"`))
        .map(({ name }) => name)
        .toSorted()
    expect(mounting('penstock-lnd-settlement')).toEqual(['settlement'])
    expect(mounting('penstock-lnd-watcher')).toEqual(['channel-watcher'])
    expect(mounting('penstock-lnd-reader')).toEqual(
      reachOutside.filter((name) => !['settlement', 'channel-watcher'].includes(name)).toSorted(),
    )
    const toNode = renderedObjects.filter(({ spec }) =>
      spec?.egress?.some(({ ports }) => ports?.some(({ port }) => port === 10009)),
    )
    expect(toNode.map(({ metadata }) => metadata.name.replace('penstock-', '')).toSorted()).toEqual([...reachOutside].toSorted())
  })

  test('only quote may reach the exchange-rate sources, and only in a release that uses them', async () => {
    const withHttpsEgress = (renderedObjects: readonly KubernetesObject[]): readonly string[] =>
      renderedObjects
        .filter(({ spec }) => spec?.egress?.some(({ ports }) => ports?.some(({ port }) => port === 443)))
        .map(({ metadata }) => metadata.name)
    // The rule of payments allows public addresses only.
    expect(withHttpsEgress(objectsByFile.get('values-production.yaml') ?? [])).toEqual(['penstock-payments', 'penstock-quote'])
    expect(withHttpsEgress(objectsByFile.get('values.yaml') ?? [])).toEqual(['penstock-payments'])
    const regtest = await renderObjects(cluster(), 'values-production.yaml', '--set', 'lightning.lnd.network=regtest')
    expect(withHttpsEgress(regtest)).toEqual(['penstock-payments'])
  })

  test('only payments may reach the internet, by port 443 and from 1024 up, and no address for special purposes', async () => {
    const renderedObjects = await renderObjects(cluster(), 'values.yaml', '--set', 'webhooks.except={8.8.8.0/24,2a00:1450::/32}')
    const rules = renderedObjects.flatMap(({ metadata, spec }) =>
      (spec?.egress ?? [])
        .filter(({ to = [] }) => to.some(({ ipBlock }) => ipBlock))
        .map(({ to = [], ports }) => ({ name: metadata.name, ports, blocks: to.map(({ ipBlock }) => ipBlock) })),
    )
    expect(rules).toMatchObject([
      {
        name: 'penstock-payments',
        ports: [{ port: 443 }, { port: 1024, endPort: 65_535 }],
        blocks: [{ cidr: '0.0.0.0/0' }, { cidr: '2000::/3' }],
      },
    ])
    const [ipv4 = [], ipv6 = []] = rules[0]?.blocks.map((block) => block?.except ?? []) ?? []
    expect(ipv4).toEqual(expect.arrayContaining(['8.8.8.0/24', '10.0.0.0/8', '169.254.0.0/16']))
    expect(ipv6).toEqual(expect.arrayContaining(['2a00:1450::/32', '2002::/16']))
    const listed = [...ipv4, ...ipv6].map((prefix) => prefix.replace(/\/.*/, ''))
    const others = listed.filter((address) => findSpecialPurposeBlock(address) === undefined)
    expect(others.toSorted()).toEqual(['2a00:1450::', '8.8.8.0'])
  })

  test('the migration job has the same settings as all other pods', async () => {
    const renderedObjects = await renderObjects(
      cluster(),
      'values.yaml',
      '--set-string',
      'settings.PENSTOCK_POSTGRES_TIMEOUT_SECONDS=99',
    )
    const without = listPods(renderedObjects).filter(
      ({ pod }) =>
        !pod.spec.containers[0].env.some(({ name, value }) => name === 'PENSTOCK_POSTGRES_TIMEOUT_SECONDS' && value === '99'),
    )
    expect(without.map(({ name }) => name)).toEqual([])
  })

  test('the certificate of a private CA is mounted at the path that the settings contain', async () => {
    const renderedObjects = await renderObjects(
      cluster(),
      'values-production.yaml',
      '--set-string',
      'eventStore.url=kurrentdb://admin@x:2113?tlsCAFile=/run/secrets/event-store-ca/ca.crt',
      '--set-string',
      'eventStore.passwordSecret.name=store,eventStore.caSecret=store-ca,lightning.bitcoind.certSecret=rpc-cert',
    )
    const pod = listPods(renderedObjects).find(({ name }) => name === 'settlement')?.pod
    const [container] = pod?.spec.containers ?? []
    const at = Object.fromEntries((container?.volumeMounts ?? []).map(({ name, mountPath }) => [mountPath, name]))
    expect(at).toMatchObject({ '/run/secrets/event-store-ca': 'event-store-ca', '/run/secrets/bitcoind-cert': 'bitcoind-cert' })
    expect(container?.env).toContainEqual({ name: 'PENSTOCK_BITCOIND_CERT_FILE', value: '/run/secrets/bitcoind-cert/tls.cert' })
    const secrets = pod?.spec.volumes.map(({ secret }) => secret?.secretName)
    expect(secrets).toEqual(expect.arrayContaining(['store', 'store-ca', 'rpc-cert']))
  })

  test('a separate password for an event store on PostgreSQL is rejected, because it would have no effect', async () => {
    const rendered = renderObjects(
      cluster(),
      'values.yaml',
      '--set-string',
      'eventStore.url=postgres://penstock@events:5432/events,eventStore.passwordSecret.name=store',
    )
    await expect(rendered).rejects.toThrow(/passwordSecret/)
  })

  test('the chart sets no replica count if an autoscaler sets it', () => {
    const renderedObjects = objectsByFile.get('values-production.yaml') ?? []
    const scaled = renderedObjects.flatMap(({ spec }) => spec?.scaleTargetRef?.name ?? [])
    expect(scaled.toSorted()).toEqual(scaledServices.map((name) => `penstock-${name}`).toSorted())
    // The API server writes 1 if the chart sets no count.
    const replicas = renderedObjects
      .filter(({ kind, metadata }) => kind === 'Deployment' && scaled.includes(metadata.name))
      .map(({ spec }) => spec.replicas)
    expect(replicas).toEqual(scaledServices.map(() => 1))
  })

  test('an autoscaler reads the lag of the command topics of its service', () => {
    const triggers = (objectsByFile.get('values-production.yaml') ?? []).flatMap(({ kind, spec }) =>
      kind === 'ScaledObject' ? (spec.triggers ?? []) : [],
    )
    const triggersFound = triggers.map(({ metadata: { topic, consumerGroup } }) => ({ topic, consumerGroup }))
    const byLag = services.filter(({ scaling }) => scaling.by === 'lag').map(({ name }): string => name)
    const scaled = contracts.filter(({ owner }) => byLag.includes(owner))
    const topics = scaled.flatMap((contract) => sendersOf(contract).map((sender) => commandTopic(contract.owner, sender)))
    const expected = [...new Set(topics)].toSorted().map((topic) => ({
      topic: `penstock.${topic}`,
      consumerGroup: `penstock.${topic.split('.')[0]}`,
    }))
    expect(triggersFound.toSorted((a, b) => (a.topic < b.topic ? -1 : 1))).toEqual(expected)
  })

  test.each([
    ['plain', 'plaintext'],
    ['scram-sha-256', 'scram_sha256'],
    ['scram-sha-512', 'scram_sha512'],
  ])('the scaler logs in to Kafka by %s, which the scaler calls %s', async (sasl, name) => {
    const renderedObjects = await renderObjects(cluster(), 'values-production.yaml', '--set', `kafka.sasl=${sasl}`)
    const triggers = renderedObjects.flatMap(({ kind, spec }) => (kind === 'ScaledObject' ? (spec.triggers ?? []) : []))
    expect(new Set(triggers.map(({ metadata }) => metadata.sasl))).toEqual(new Set([name]))
  })

  test('the chart registers alert rules and metrics with Prometheus', () => {
    const renderedObjects = objectsByFile.get('values-production.yaml') ?? []
    expect(renderedObjects.filter(({ kind }) => kind === 'ServiceMonitor')).toHaveLength(1)
    expect(renderedObjects.filter(({ kind }) => kind === 'PrometheusRule').length).toBeGreaterThan(0)
  })

  test('alerts link to the runbooks of the operator, and metrics have the label `release`', async () => {
    const address = 'https://wiki.example/penstock-alerts'
    const set = `monitoring.enabled=true,monitoring.runbooks=${address}`
    const renderedObjects = await renderObjects(cluster(), 'values.yaml', '--set', set)
    const links = [...JSON.stringify(renderedObjects).matchAll(/"runbook_url":"([^"#]*)#(\w+)"/g)]
    expect(links.length).toBeGreaterThan(30)
    expect(new Set(links.map(([, at]) => at))).toEqual(new Set([address]))
    const monitor = renderedObjects.find(({ kind }) => kind === 'ServiceMonitor')
    expect(monitor?.spec).toMatchObject({ endpoints: [{ relabelings: [{ targetLabel: 'release', replacement: 'penstock' }] }] })
  })

  test('every service has the setting PENSTOCK_RESTORED after a restore', async () => {
    const renderedObjects = await renderObjects(cluster(), 'values.yaml', '--set', 'restored=true')
    const restoredSettings = listPods(renderedObjects).map(({ name, pod }) => [
      name,
      pod.spec.containers[0].env.find((one) => one.name === 'PENSTOCK_RESTORED')?.value,
    ])
    const expectedNames = [...serviceNames, 'audit']
    expect(restoredSettings.filter(([name = '', value]) => expectedNames.includes(name) && value !== '1')).toEqual([])
    expect(expectedNames.filter((name) => !restoredSettings.some(([one]) => one === name))).toEqual([])
  })

  test('the Kafka token is a file in a mounted folder, and the network policy allows every configured address', async () => {
    const renderedObjects = await renderObjects(
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
    const order = listPods(renderedObjects).find(({ name }) => name === 'order')?.pod.spec.containers[0]
    const env = Object.fromEntries((order?.env ?? []).map(({ name, value }) => [name, value]))
    expect(env['PENSTOCK_KAFKA_TOKEN_FILE']).toBe('/run/secrets/kafka-token/token')
    expect(env).not.toHaveProperty('PENSTOCK_KAFKA_PASSWORD_FILE')
    expect(order?.volumeMounts).toContainEqual(
      expect.objectContaining({ name: 'kafka-token', mountPath: '/run/secrets/kafka-token' }),
    )
    const { spec } =
      renderedObjects.find(({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name.endsWith('-order')) ?? {}
    const called = (spec?.egress ?? []).flatMap(({ ports = [] }) => ports.map(({ port }) => port))
    expect(called).toEqual(expect.arrayContaining([5432, 9093, 9094, 2113, 2114, 2115]))
  })
})
