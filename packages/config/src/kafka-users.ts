import type { Config } from './config.ts'
import { ConfigError } from './config-error.ts'

/** The name of a service's user at the brokers. @param users the prefix of all such names */
export const kafkaUserOf = (users: string, service: string): string => `${users}${service.replaceAll('-', '_')}`

type KafkaLoginConfig = Pick<Config, 'kafkaUsers' | 'kafkaUser' | 'kafkaSasl' | 'kafkaCertFile'>

/** Sets the service's own user if PENSTOCK_KAFKA_USERS is set. @throws ConfigError if neither SASL nor a certificate is set */
export function withServiceUser<C extends KafkaLoginConfig>(config: C, service: string): C {
  if (config.kafkaUsers === '') return config
  assertLogin(config)
  return { ...config, kafkaUser: kafkaUserOf(config.kafkaUsers, service) }
}

/** @throws ConfigError if neither SASL nor a certificate is set */
export function assertLogin({ kafkaSasl, kafkaCertFile }: KafkaLoginConfig): void {
  if (kafkaSasl === 'none' && kafkaCertFile === '')
    throw new ConfigError(
      'PENSTOCK_KAFKA_USERS needs a way to log in to the brokers: set PENSTOCK_KAFKA_SASL or PENSTOCK_KAFKA_CERT_FILE.',
    )
}
