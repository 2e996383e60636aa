"""REST: one file per noun, each with its serializers, views and `urlpatterns`.

Thin: selectors read, actions write.
"""
