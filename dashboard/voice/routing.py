"""The address of conversations' sockets."""

from django.urls import path

from .consumers import VoiceConsumer

websocket_urlpatterns = [path("voice/<str:agent>/<path:name>/", VoiceConsumer.as_asgi())]
