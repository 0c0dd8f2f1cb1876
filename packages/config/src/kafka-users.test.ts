import { ConfigError } from './config-error.ts'
import { expect, test } from 'vitest'
import { withServiceUser } from './kafka-users.ts'

const login = { kafkaUsers: 'market_', kafkaUser: 'owner', kafkaSasl: 'plain', kafkaCertFile: '' } as const

test('a process logs in as the user of its service if PENSTOCK_KAFKA_USERS is set', () => {
  expect(withServiceUser(login, 'channel-watcher').kafkaUser).toBe('market_channel_watcher')
  expect(withServiceUser({ ...login, kafkaUsers: '' }, 'channel-watcher').kafkaUser).toBe('owner')
})

test('users for services are refused if neither SASL nor a certificate is set', () => {
  expect(() => withServiceUser({ ...login, kafkaSasl: 'none' }, 'order')).toThrow(ConfigError)
  expect(withServiceUser({ ...login, kafkaSasl: 'none', kafkaCertFile: 'own.pem' }, 'order').kafkaUser).toBe('market_order')
  expect(withServiceUser({ ...login, kafkaSasl: 'none', kafkaUsers: '' }, 'order').kafkaUser).toBe('owner')
})
