import { expect, test } from 'vitest'
import { plan } from './plan.ts'

test('only gateways listen where the operator says; what all others answer is for this machine', async () => {
  let port = 10_000
  const planned = await plan({
    asRole: (name) => ({ PENSTOCK_POSTGRES_URL: name }),
    replicas: 2,
    demo: false,
    publicUrl: 'http://127.0.0.1:8080',
    host: '0.0.0.0',
    isSimulated: true,
    env: { PENSTOCK_HOST: '0.0.0.0' },
    ports: { simnet: 1, audit: 2, health: async () => ++port },
  })
  for (const { name, env } of planned)
    expect(env).toMatchObject({
      PENSTOCK_HOST: name === 'gateway' ? '0.0.0.0' : '127.0.0.1',
      PENSTOCK_HEALTH_HOST: '127.0.0.1',
    })
  expect(planned.filter(({ name }) => name === 'gateway')).toHaveLength(2)
})
